//! The value of an expression such as `2 * (12 + 7)`.

/// How deep parentheses and signs may nest.
const MAX_DEPTH: usize = 64;

/// Works out an expression of numbers, `+ - * /` and parentheses.
///
/// # Errors
///
/// What was expected, and where.
pub(super) fn value(expression: &str) -> Result<f64, String> {
    let mut reader = Reader {
        text: expression,
        at: 0,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.expected("an operator")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.factor()?;
        loop {
            if self.take('*') {
                value *= self.factor()?;
            } else if self.take('/') {
                value /= self.factor()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression nests too deep".to_owned());
        }
        let value = if self.take('-') {
            -self.factor()?
        } else if self.take('(') {
            let value = self.sum()?;
            if !self.take(')') {
                return Err(self.expected("`)`"));
            }
            value
        } else {
            self.number()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, String> {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(rest.len());
        let number = rest[..length]
            .parse()
            .map_err(|_| self.expected("a number"))?;
        self.at += length;
        Ok(number)
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn expected(&self, what: &str) -> String {
        let character = self.text[..self.at].chars().count() + 1;
        format!(
            "expected {what} at character {character} of `{}`",
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn expressions_have_their_value_or_say_what_is_wrong() {
        let shown: Vec<String> = [
            "2 * (12 + 7)",
            "12*7/20",
            "-(1-4)*.5",
            "",
            "1 + x",
            "(1",
            "1 2",
        ]
        .into_iter()
        .map(|text| match value(text) {
            Ok(value) => format!("{text} = {value}"),
            Err(message) => message,
        })
        .collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        2 * (12 + 7) = 38
        12*7/20 = 4.2
        -(1-4)*.5 = 1.5
        expected a number at character 1 of ``
        expected a number at character 5 of `1 + x`
        expected `)` at character 3 of `(1`
        expected an operator at character 3 of `1 2`
        ");
        assert!(value(&"(".repeat(1000)).is_err());
    }
}
