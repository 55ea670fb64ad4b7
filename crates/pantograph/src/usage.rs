//! What a model's answer used, and what that costs.

use serde::{Deserialize, Serialize};

/// Token counts as the provider reported them; a count that it did not report is `None`, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output tokens, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output tokens spent on reasoning; already part of `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Whether nothing at all was reported.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The size of the request and its answer in the model's context, if any part of it is known.
    pub fn context_tokens(&self) -> Option<u64> {
        sum([self.input, self.cache_read, self.cache_write, self.output])
    }

    /// Adds the counts of another answer.
    pub fn add(&mut self, other: &Usage) {
        self.input = sum([self.input, other.input]);
        self.output = sum([self.output, other.output]);
        self.cache_read = sum([self.cache_read, other.cache_read]);
        self.cache_write = sum([self.cache_write, other.cache_write]);
        self.reasoning = sum([self.reasoning, other.reasoning]);
    }

    /// Takes over every count that a later report of the same answer gives.
    ///
    /// Providers repeat growing totals within one stream, so later wins.
    pub fn update(&mut self, later: &Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// Adds what is known; `None` only if nothing is.
fn sum<const N: usize>(counts: [Option<u64>; N]) -> Option<u64> {
    counts
        .into_iter()
        .flatten()
        .reduce(|total, count| total.saturating_add(count))
}

/// What a model costs, in US dollars per million tokens; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// Input outside the cache.
    pub input: Option<f64>,
    /// Output, reasoning included.
    pub output: Option<f64>,
    /// Input read from the cache.
    pub cache_read: Option<f64>,
    /// Input written to the cache.
    pub cache_write: Option<f64>,
}

impl Price {
    /// The cost of an answer in US dollars.
    ///
    /// `None` if input or output were not reported, or if a count above zero has no price.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        usage.input.or(usage.cache_read)?;
        usage.output?;
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let mut micros = 0.0;
        for (count, price) in parts {
            match (count.unwrap_or(0), price) {
                (0, _) => {}
                (count, Some(price)) => micros += count as f64 * price,
                (_, None) => return None,
            }
        }
        Some(micros / 1_000_000.0)
    }
}

/// The usage of several answers together, as a turn or a session reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageTotal {
    /// The sum of what was reported.
    pub usage: Usage,
    /// Answers counted.
    pub requests: u32,
    /// Answers among them whose provider reported nothing.
    pub unreported: u32,
    /// The cost in US dollars, of the answers whose cost is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Answers among them whose cost is not known.
    pub unpriced: u32,
}

impl UsageTotal {
    /// Counts one more answer.
    pub fn record(&mut self, usage: Option<&Usage>, price: Option<&Price>) {
        self.requests += 1;
        match usage.filter(|usage| !usage.is_unknown()) {
            Some(usage) => self.usage.add(usage),
            None => self.unreported += 1,
        }
        match usage.and_then(|usage| price?.cost(usage)) {
            Some(cost) => self.cost = Some(self.cost.unwrap_or(0.0) + cost),
            None => self.unpriced += 1,
        }
    }

    /// Adds another total.
    pub fn merge(&mut self, other: &UsageTotal) {
        self.usage.add(&other.usage);
        self.requests += other.requests;
        self.unreported += other.unreported;
        self.unpriced += other.unpriced;
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero() {
        let mut usage = Usage {
            input: Some(5),
            ..Usage::default()
        };
        usage.add(&Usage {
            output: Some(2),
            ..Usage::default()
        });
        assert_eq!(
            usage,
            Usage {
                input: Some(5),
                output: Some(2),
                ..Usage::default()
            }
        );
        assert_eq!(usage.cache_read, None);
    }

    #[test]
    fn a_cost_needs_a_price_for_every_count() {
        let price = Price {
            input: Some(2.0),
            output: Some(10.0),
            ..Price::default()
        };
        let mut usage = Usage {
            input: Some(1_000_000),
            output: Some(100_000),
            cache_read: Some(0),
            ..Usage::default()
        };
        assert_eq!(price.cost(&usage), Some(3.0));
        usage.cache_read = Some(1);
        assert_eq!(price.cost(&usage), None);
        assert_eq!(price.cost(&Usage::default()), None);
    }

    #[test]
    fn a_total_says_what_it_does_not_know() {
        let mut total = UsageTotal::default();
        let usage = Usage {
            input: Some(1_000_000),
            output: Some(0),
            ..Usage::default()
        };
        let price = Price {
            input: Some(1.0),
            ..Price::default()
        };
        total.record(Some(&usage), Some(&price));
        total.record(None, Some(&price));
        assert_eq!(
            total,
            UsageTotal {
                usage,
                requests: 2,
                unreported: 1,
                cost: Some(1.0),
                unpriced: 1,
            }
        );
    }
}
