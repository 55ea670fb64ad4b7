//! No request that an agent can make is refused, whatever its conversation holds.

mod examples;
mod proofs;

use pantograph::protocol::Request;
use pantograph::{ForcedTool, ReasoningControl};
use pantograph_providers::{
    AnthropicFlags, AnthropicMessages, GoogleGenerate, GoogleGenerateFlags, OpenAiChat,
    OpenAiChatFlags, OpenAiResponses, OpenAiResponsesFlags,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::anthropic::binding;
use crate::strict;
use crate::strict::google_generate::Thinks;
use crate::support::endpoint;
use crate::support::random::{Home, case};

const ANTHROPIC: Home = Home {
    style: "anthropic-messages",
    base_url: AnthropicMessages::BASE_URL,
    model: "claude-x",
    details: false,
};

const GOOGLE: Home = Home {
    style: "google-generate",
    base_url: GoogleGenerate::BASE_URL,
    model: "gemini-x",
    details: false,
};

const RESPONSES: Home = Home {
    style: "openai-responses",
    base_url: OpenAiResponses::BASE_URL,
    model: "gpt-x",
    details: false,
};

fn anthropic(request: &Request) -> (Value, Vec<String>) {
    let flags = AnthropicFlags::default();
    let protocol = AnthropicMessages::new(endpoint(ANTHROPIC.base_url), flags);
    let body = serde_json::from_slice(&protocol.encode(request)).unwrap();
    let model = &request.model;
    let facts = strict::anthropic::Facts {
        model: &model.wire_model,
        budget: model.reasoning_control == Some(ReasoningControl::Budget),
        forced_while_thinking: model.forced_tool == ForcedTool::Yes,
        thinks_unasked: matches!(
            model.reasoning_control,
            None | Some(ReasoningControl::Effort)
        ),
    };
    let refusals = strict::anthropic::check(&body, facts);
    (body, refusals)
}

fn responses(request: &Request) -> (Value, Vec<String>) {
    let flags = OpenAiResponsesFlags::default();
    let protocol = OpenAiResponses::new(endpoint(RESPONSES.base_url), flags);
    let body = serde_json::from_slice(&protocol.encode(request)).unwrap();
    let facts = strict::openai_responses::Facts {
        model: &request.model.wire_model,
        // Of a model of which nothing is known it may be either.
        reasons: match request.model.reasoning_control {
            Some(control) => control != ReasoningControl::None,
            None => request.model.reasoning.is_some(),
        },
    };
    let refusals = strict::openai_responses::check(&body, facts);
    (body, refusals)
}

fn google(request: &Request) -> (Value, Vec<String>) {
    let flags = GoogleGenerateFlags::default();
    let protocol = GoogleGenerate::new(endpoint(GOOGLE.base_url), flags);
    let body = serde_json::from_slice(&protocol.encode(request)).unwrap();
    let facts = strict::google_generate::Facts {
        model: Some(&request.model.wire_model),
        thinks: Thinks::of(request.model.reasoning_control),
    };
    let refusals = strict::google_generate::check(&body, facts);
    (body, refusals)
}

fn chat_home(server: &str) -> Home {
    Home {
        style: "openai-chat",
        base_url: "https://chat.example/v1",
        model: "m",
        details: server == "openrouter",
    }
}

fn chat(request: &Request, server: &str) -> (Value, Vec<String>) {
    let flags = OpenAiChatFlags::of_server(server).unwrap();
    let protocol = OpenAiChat::new(endpoint("https://chat.example/v1"), flags);
    let body = serde_json::from_slice(&protocol.encode(request)).unwrap();
    let refusals = strict::openai_chat::check(&body, server);
    (body, refusals)
}

fn accepted((body, refusals): (Value, Vec<String>)) -> Result<(), TestCaseError> {
    prop_assert!(
        refusals.is_empty(),
        "{}\n{}",
        refusals.join("\n"),
        serde_json::to_string_pretty(&body).unwrap()
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_messages_api_takes_every_request(case in case()) {
        accepted(anthropic(&case.request(ANTHROPIC)))?;
    }

    /// Also of the models that hold their thinking to what stood before it, after a compaction.
    #[test]
    fn the_messages_api_takes_thinking_only_behind_what_it_was_thought_after(
        case in case(),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut request = case.request(ANTHROPIC);
        if request.model.reasoning_control != Some(ReasoningControl::Budget) {
            request = binding::lived(request);
        }
        if let Some(cut) = cut {
            request.conversation = binding::compacted(&request.conversation, cut);
        }
        accepted(anthropic(&request))?;
    }

    #[test]
    fn the_responses_api_takes_every_request(case in case()) {
        accepted(responses(&case.request(RESPONSES)))?;
    }

    #[test]
    fn the_gemini_api_takes_every_request(case in case()) {
        accepted(google(&case.request(GOOGLE)))?;
    }

    #[test]
    fn every_chat_server_takes_every_request(
        case in case(),
        server in proptest::sample::select(OpenAiChatFlags::SERVERS),
    ) {
        accepted(chat(&case.request(chat_home(server)), server))?;
    }
}
