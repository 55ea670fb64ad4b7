//! How failed attempts are repeated.

use std::time::Duration;

use crate::error::ProviderError;

/// When and how often an attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Repetitions after the first attempt.
    pub max_retries: u32,
    /// The first delay; it doubles with each repetition.
    pub base_delay: Duration,
    /// No computed delay is longer.
    pub max_delay: Duration,
    /// A provider that asks to wait longer than this fails the turn at once.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// Five repetitions, from 1 s to 60 s; a provider may ask for up to ten minutes.
    fn default() -> Self {
        Self {
            max_retries: 5,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            max_retry_after: Duration::from_secs(600),
        }
    }
}

impl RetryPolicy {
    /// How long to wait before repetition `retry` (from 1) after `error`.
    ///
    /// `None` if the error is final, the repetitions are used up, or the provider asks for too
    /// long a wait. `jitter` lies in 0 to 1 and shortens a computed delay by up to half, so that
    /// agents that failed together do not come back together. A delay that the provider asked
    /// for is never shortened.
    pub fn delay(&self, retry: u32, error: &ProviderError, jitter: f64) -> Option<Duration> {
        if retry > self.max_retries || !error.class.is_retryable() {
            return None;
        }
        // Saturates: a shift past the width would wrap to a tiny delay.
        let factor = 1_u32
            .checked_shl(retry.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let computed = self.base_delay.saturating_mul(factor).min(self.max_delay);
        let computed = computed.mul_f64(1.0 - 0.5 * jitter.clamp(0.0, 1.0));
        match error.retry_after {
            Some(wanted) if wanted > self.max_retry_after => None,
            Some(wanted) => Some(wanted.max(computed)),
            None => Some(computed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    fn schedule(policy: &RetryPolicy, error: &ProviderError) -> String {
        (1..=policy.max_retries + 1)
            .map(|retry| match policy.delay(retry, error, 0.0) {
                Some(delay) => format!("{retry}: {delay:?}\n"),
                None => format!("{retry}: give up\n"),
            })
            .collect()
    }

    #[test]
    fn delays_double_up_to_the_cap() {
        let policy = RetryPolicy {
            max_retries: 4,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(3),
            ..RetryPolicy::default()
        };
        insta::assert_snapshot!(schedule(&policy, &ProviderError::transport("reset")), @r"
        1: 500ms
        2: 1s
        3: 2s
        4: 3s
        5: give up
        ");
    }

    #[test]
    fn the_provider_can_ask_for_more_but_not_for_ever() {
        let policy = RetryPolicy::default();
        let error = |secs| {
            ProviderError::new(ErrorClass::RateLimit, "slow down")
                .with_retry_after(Duration::from_secs(secs))
        };
        assert_eq!(
            policy.delay(1, &error(30), 1.0),
            Some(Duration::from_secs(30))
        );
        assert_eq!(policy.delay(1, &error(601), 1.0), None);
    }

    #[test]
    fn final_errors_are_not_repeated() {
        for class in [
            ErrorClass::Authentication,
            ErrorClass::InvalidRequest,
            ErrorClass::ModelNotFound,
            ErrorClass::ContextOverflow,
            ErrorClass::Terminal,
        ] {
            let error = ProviderError::new(class, "no");
            assert_eq!(RetryPolicy::default().delay(1, &error, 0.0), None);
        }
    }

    #[test]
    fn jitter_shortens_by_at_most_half() {
        let policy = RetryPolicy::default();
        let error = ProviderError::transport("reset");
        assert_eq!(
            policy.delay(1, &error, 1.0),
            Some(Duration::from_millis(500))
        );
    }
}
