//! With a protocol of their own, so that each test decides when an answer goes on.
