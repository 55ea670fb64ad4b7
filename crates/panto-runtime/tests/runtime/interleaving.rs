//! Many agents and jobs in whatever order things happen to them: each ends, with its own results.
//!
//! A seed decides which parked handler or stream goes on next, and when a job is cancelled.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pantograph::{Agent, StopReason};
use pantograph_scripted::{Script, Step};
use serde_json::json;

use crate::support::{Machine, machine, results};

/// A generator of small numbers that a seed decides.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64: every seed gives another order.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }
}

const LUA: &str = r#"
-- What waits for the seed's decision, by number.
waiting, count = {}, 0
function gate()
    local co = coroutine.running()
    count = count + 1
    waiting[count] = function()
        -- A cancel may have closed it.
        if coroutine.status(co) == "suspended" then assert(coroutine.resume(co)) end
    end
    coroutine.yield()
end
function go_on(n)
    local resume = table.remove(waiting, n)
    count = count - 1
    resume()
end
-- A provider whose every event waits for a decision.
function open(request)
    local who = request.history_transcript:match("I am (%w+)")
    local called = request.history_transcript:find("result", 1, true)
    local script = called and { { type = "text_delta", text = who }, { type = "done", usage = { output = 1 } } }
        or { { type = "text_delta", text = who .. "?" },
             { type = "tool_call", id = "a", name = "tool", input_json = '{"who":"' .. who .. '","n":1}' },
             { type = "tool_call", id = "b", name = "tool", input_json = '{"who":"' .. who .. '","n":2}' },
             { type = "done" } }
    local at, ready = 0, 0
    local function more()
        count = count + 1
        waiting[count] = function() ready = ready + 1 request.notify() if ready < #script then more() end end
    end
    more()
    return {
        next = function()
            if at < ready then at = at + 1 return script[at] end
        end,
        close = function() closed = (closed or 0) + 1 end,
    }
end
"#;

impl Machine {
    fn interleaving(&self) {
        self.exec(LUA);
        self.protocols();
        self.exec("register_protocol { name = 'lua', open = open }");
        let agent = self.runtime.handle().current_agent().unwrap();
        self.lua.globals().set("current", agent).unwrap();
        self.tool(
            "tool",
            r#"
            local me = current:session_id()
            gate()
            assert(me == current:session_id())
            coroutine.wrap(function()
                gate()
                -- The call may be over by now: then it is nobody's.
                local now = current:session_id()
                assert(now == me or now == nil)
            end)()
            gate()
            return input.who .. math.tointeger(input.n) .. " " .. me
            "#,
        );
    }
}

/// Ten agents on Lua's protocol and ten on a scripted one, some of which are cancelled.
async fn run(seed: u64) {
    let mut machine = machine();
    machine.interleaving();
    let mut seeded = Seeded(seed);
    let protocol = machine.runtime.handle().protocol("lua").unwrap();
    let agents: Vec<Agent> = (0..20)
        .map(|n| match n < 10 {
            true => machine.agent_of(protocol.clone()),
            false => {
                let step = [1, 2].iter().fold(Step::text("?"), |step, k| {
                    let input = json!({ "who": format!("a{n}"), "n": k });
                    step.then(pantograph_scripted::Call::new("tool", input))
                });
                machine.agent(Script::new().step(step).step(Step::text(format!("a{n}"))))
            }
        })
        .collect();
    let turns: Vec<_> = agents
        .iter()
        .enumerate()
        .map(|(n, agent)| agent.run(format!("I am a{n}.")).unwrap())
        .collect();
    let controls: Vec<_> = turns.iter().map(|turn| turn.control()).collect();
    let cancelled: Rc<RefCell<Vec<usize>>> = Rc::default();
    let cancelling = Rc::clone(&cancelled);
    let lua = machine.lua.clone();
    let deciding = async move {
        let globals = lua.globals();
        let go_on: mlua::Function = globals.get("go_on").unwrap();
        loop {
            // Everything that can go on by itself does.
            for _ in 0..seeded.below(4) {
                tokio::task::yield_now().await;
            }
            if seeded.below(40) == 0 {
                let victim = seeded.below(controls.len());
                controls[victim].cancel_within(Duration::from_millis(10));
                cancelling.borrow_mut().push(victim);
            }
            match globals.get::<usize>("count").unwrap() {
                0 => tokio::time::sleep(Duration::from_millis(1)).await,
                count => go_on.call::<()>(seeded.below(count) + 1).unwrap(),
            }
        }
    };
    let all = futures_util::future::join_all(turns.into_iter().map(|turn| turn.outcome()));
    let outcomes = machine
        .runtime
        .run_until(async {
            tokio::select! {
                outcomes = all => outcomes,
                () = deciding => Vec::new(),
            }
        })
        .await;
    for (n, (outcome, agent)) in outcomes.iter().zip(&agents).enumerate() {
        if cancelled.borrow().contains(&n) && outcome.stop == StopReason::Cancelled {
            continue;
        }
        assert_eq!(
            outcome.text.as_deref(),
            Some(format!("a{n}").as_str()),
            "seed {seed}: {outcome:?}"
        );
        let me = agent.session_id();
        let expected = [1, 2].map(|k| ("ok".to_owned(), format!("a{n}{k} {me}")));
        assert_eq!(results(agent), expected, "seed {seed}");
    }
    machine
        .runtime
        .run_until(tokio::time::sleep(Duration::from_millis(20)))
        .await;
    assert_eq!(machine.runtime.live_handlers(), 0, "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn any_interleaving_gives_every_agent_its_own_results() {
    for seed in 0..60 {
        run(seed).await;
    }
}
