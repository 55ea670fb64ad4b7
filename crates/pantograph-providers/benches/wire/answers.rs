//! Answers of one text, as each provider writes them.

/// How one provider writes: what stands before the deltas, around each text, and after.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    begin: &'static str,
    before: &'static str,
    after: &'static str,
    end: &'static str,
}

/// What a tokenizer makes of prose and code; some of it needs escapes in JSON.
const TOKENS: &[&str] = &[
    " the",
    " value",
    " of",
    " `read",
    "_file`",
    " is",
    " checked",
    ".",
    "\\n",
    "    ",
    "let",
    " path",
    " =",
    " \\\"src",
    "/lib",
    ".rs",
    "\\\"",
    ";",
    " caf\u{e9}",
    " afterwards",
];

impl Answer {
    /// An answer of `count` deltas, a token each.
    pub(crate) fn of_deltas(self, count: usize) -> String {
        let mut answer = String::with_capacity(count * 300);
        answer.push_str(self.begin);
        for n in 0..count {
            self.delta(TOKENS[n % TOKENS.len()], &mut answer);
        }
        answer.push_str(self.end);
        answer
    }

    /// An answer of one delta of `bytes`.
    pub(crate) fn of_one_delta(self, bytes: usize) -> String {
        let text: String = TOKENS.iter().copied().cycle().take(bytes / 3).collect();
        let mut end = bytes;
        // Neither a letter nor an escape is cut.
        while !text.is_char_boundary(end) || text.as_bytes()[end - 1] == b'\\' {
            end -= 1;
        }
        let mut answer = self.begin.to_owned();
        self.delta(&text[..end], &mut answer);
        answer.push_str(self.end);
        answer
    }

    fn delta(self, text: &str, answer: &mut String) {
        answer.push_str(self.before);
        answer.push_str(text);
        answer.push_str(self.after);
    }
}

pub(crate) const ANTHROPIC: Answer = Answer {
    begin: concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\n",
    ),
    before: concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""#,
    ),
    after: concat!(r#""}}"#, "\n\n"),
    end: concat!(
        "event: content_block_stop\n",
        r#"data: {"type":"content_block_stop","index":0}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":89}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    ),
};

pub(crate) const CHAT: Answer = Answer {
    begin: concat!(
        r#"data: {"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x-2025-08-07","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        "\n\n",
    ),
    before: r#"data: {"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x-2025-08-07","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":""#,
    after: concat!(
        r#""},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        "\n\n",
    ),
    end: concat!(
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "\n\n",
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#,
        "\n\ndata: [DONE]\n\n",
    ),
};

pub(crate) const RESPONSES: Answer = Answer {
    begin: concat!(
        "event: response.created\n",
        r#"data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress"}}"#,
        "\n\nevent: response.output_item.added\n",
        r#"data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#,
        "\n\n",
    ),
    before: concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654","output_index":0,"content_index":0,"delta":""#,
    ),
    after: concat!(r#"","logprobs":[],"obfuscation":"vWhPLBCK7Cq"}"#, "\n\n"),
    end: concat!(
        "event: response.output_item.done\n",
        r#"data: {"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[],"role":"assistant"}}"#,
        "\n\nevent: response.completed\n",
        r#"data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","usage":{"input_tokens":37,"output_tokens":11}}}"#,
        "\n\n",
    ),
};

/// Each event counts the tokens anew; here the count stays, since what surrounds the text does.
pub(crate) const GOOGLE: Answer = Answer {
    begin: "",
    before: r#"data: {"candidates": [{"content": {"parts": [{"text": ""#,
    after: concat!(
        r#""}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 11,"candidatesTokenCount": 7,"totalTokenCount": 18,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 11}]},"modelVersion": "gemini-x","responseId": "k2FsaZ7xN4-QvdIP5b6gyAk"}"#,
        "\r\n\r\n",
    ),
    end: concat!(
        r#"data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 11,"candidatesTokenCount": 10,"totalTokenCount": 21},"modelVersion": "gemini-x","responseId": "k2FsaZ7xN4-QvdIP5b6gyAk"}"#,
        "\r\n\r\n",
    ),
};
