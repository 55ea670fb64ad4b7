//! Children under a scripted primary: how they are asked for, and what they have come to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Machine, Ran, Running};

/// Answers whatever children come to with a word.
pub(crate) const DONE: &str =
    "[[steps]]\nwhen = { last_role = \"tool\" }\nrepeat = true\nplay = [{ text = \"Done.\" }]\n";

/// A machine whose primary plays `steps`, and where children can be `gated:m`.
pub(crate) fn machine(steps: &str) -> Machine {
    with_settings(steps, "", "")
}

/// The same with settings of the extensions `subagents` and `gated`.
pub(crate) fn with_settings(steps: &str, subagents: &str, gated: &str) -> Machine {
    let machine = Machine::with_script(steps);
    machine.file("gates/.keep", "");
    machine.write_config(&format!(
        "model = \"test:model\"\n\n\
         [providers.test]\nprotocol = \"scripted\"\nscript = \"script.toml\"\n\
         [providers.test.models.model]\ncontext_window = 100000\n\n\
         [providers.gated]\nprotocol = \"gated\"\n[providers.gated.models.m]\n\n\
         [extensions.settings.subagents]\n{subagents}\n\
         [extensions.settings.gated]\ngates = {:?}\n{gated}\n",
        machine.root().join("gates"),
    ));
    machine.file(
        "home/.config/panto/extensions/gated.lua",
        include_str!("gated.lua"),
    );
    machine
}

/// Lets go on who waits for the file.
pub(crate) fn open_gate(machine: &Machine, name: &str) {
    machine.file(&format!("gates/{name}"), "");
}

/// The input of a call that starts a child on the gated provider.
pub(crate) fn gated(prompt: &str) -> Value {
    serde_json::json!({ "agent": "general", "model": "gated:m", "prompt": prompt })
}

/// The input of a call that goes on with a child.
pub(crate) fn on(id: &str, prompt: &str) -> Value {
    serde_json::json!({ "id": id, "prompt": prompt })
}

/// A step that answers `last` with one call for each input.
pub(crate) fn calls(last: &str, inputs: &[Value]) -> String {
    let items: Vec<String> = inputs
        .iter()
        .map(|input| format!("{{ tool = \"subagents.run\", input_raw = '{input}' }}"))
        .collect();
    format!(
        "[[steps]]\nwhen = {{ last = \"{last}\", last_role = \"user\" }}\nplay = [{}]\n",
        items.join(", ")
    )
}

/// What a child went through in one turn, as the streams tell it.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) starts: Vec<Value>,
    pub(crate) running: usize,
    pub(crate) ends: Vec<Value>,
}

/// One of a fixed row of numbers, another one for each seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Everything that is told of children, by the call that began their turn.
pub(crate) fn lives(stdout: &str) -> BTreeMap<String, Life> {
    let mut lives: BTreeMap<String, Life> = BTreeMap::new();
    for (name, data) in customs(stdout) {
        let Some(kind) = name.strip_prefix("subagents.") else {
            continue;
        };
        let call = data["tool_call_id"].as_str().unwrap().to_owned();
        let life = lives.entry(call).or_default();
        match kind {
            "start" => life.starts.push(data),
            "running" => life.running += 1,
            "end" => life.ends.push(data),
            _ => assert_eq!(kind, "event"),
        }
    }
    lives
}

/// Name and data of what extensions emitted.
pub(crate) fn customs(stdout: &str) -> Vec<(String, Value)> {
    stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|object| object["type"] == "custom")
        .map(|mut object| {
            let name = object["name"].as_str().unwrap().to_owned();
            (name, object["data"].take())
        })
        .collect()
}

/// The most children that were running at once, as told.
pub(crate) fn peak(stdout: &str) -> usize {
    let (mut running, mut peak) = (std::collections::BTreeSet::new(), 0);
    for (name, data) in customs(stdout) {
        let id = data["id"].to_string();
        match name.as_str() {
            "subagents.running" => assert!(running.insert(id)),
            "subagents.end" => drop(running.remove(&id)),
            _ => {}
        }
        peak = peak.max(running.len());
    }
    assert!(running.is_empty(), "{running:?}");
    peak
}

/// That each child that was told of began once and ended once, with one id.
#[track_caller]
pub(crate) fn assert_whole(lives: &BTreeMap<String, Life>) {
    for (call, life) in lives {
        assert_eq!(life.starts.len(), 1, "{call}: {life:?}");
        assert_eq!(life.ends.len(), 1, "{call}: {life:?}");
        assert!(life.running <= 1, "{call}: {life:?}");
        assert_eq!(life.starts[0]["id"], life.ends[0]["id"], "{call}");
    }
}

/// A call and its result, as a session's file has them.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) call: String,
    pub(crate) status: String,
    pub(crate) text: String,
}

impl Settled {
    /// What the model reads of a child.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// The results in a session's file: one for each call, in the order of the calls.
#[track_caller]
pub(crate) fn results(file: &Path) -> Vec<Settled> {
    let (mut called, mut settled) = (Vec::new(), Vec::new());
    for line in fs::read_to_string(file).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for block in record["blocks"].as_array().into_iter().flatten() {
            if block["type"] == "tool_call" {
                called.push(block["id"].as_str().unwrap().to_owned());
            } else if block["type"] == "tool_result" {
                settled.push(Settled {
                    call: block["call"].as_str().unwrap().to_owned(),
                    status: block["status"].as_str().unwrap().to_owned(),
                    text: block["content"][0]["text"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                });
            }
        }
    }
    let order: Vec<&String> = settled.iter().map(|settled| &settled.call).collect();
    assert_eq!(order, called.iter().collect::<Vec<_>>());
    settled
}

/// The results of the one session that there is.
#[track_caller]
pub(crate) fn only_results(machine: &Machine) -> Vec<Settled> {
    let files = machine.session_files();
    assert_eq!(files.len(), 1, "{files:?}");
    results(&files[0])
}

/// The files of the children of a primary.
pub(crate) fn files(machine: &Machine, primary: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(catalog(machine, primary))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    files.sort();
    files
}

/// Where a primary's children lie.
pub(crate) fn catalog(machine: &Machine, primary: &str) -> PathBuf {
    let file = machine
        .session_files()
        .into_iter()
        .find(|file| file.file_stem().unwrap() == primary)
        .unwrap();
    file.parent().unwrap().join("subagents").join(primary)
}

/// The id in the name of a session's file.
pub(crate) fn id_of(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// What a machine lists as the children of a session.
#[track_caller]
pub(crate) fn listed(machine: &Machine, primary: &str) -> Vec<Value> {
    let ran = machine.run(&["x", "--json", "session:children", primary]);
    let list: Value = serde_json::from_str(&ran.answer()).unwrap();
    list.as_array().unwrap().clone()
}

/// Every file below a directory, with what is in it.
pub(crate) fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut tree = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                tree.insert(path.clone(), Vec::new());
                left.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                tree.insert(path, bytes);
            }
        }
    }
    tree
}

/// What the witness wrote: kind, id and status.
pub(crate) fn witnessed(machine: &Machine) -> Vec<(String, String, String)> {
    let text = fs::read_to_string(machine.root().join("gates/witness")).unwrap_or_default();
    text.lines()
        .map(|line| {
            let mut words = line.split(' ').map(str::to_owned);
            (
                words.next().unwrap(),
                words.next().unwrap(),
                words.next().unwrap(),
            )
        })
        .collect()
}

/// A run with its whole standard output.
pub(crate) fn streamed(machine: &Machine, prompt: &str, more: &[&str]) -> Ran {
    machine.run(&[&["-p", prompt, "-o", "stream-json"], more].concat())
}

/// An extension with an agent of its own, which asks for two children when the session's turn
/// begins. The tool `meet` waits until `begun` children were told of and one of its own has spoken.
pub(crate) fn own_agent(begun: usize) -> String {
    format!(
        "local job, begun, ended, waiting, has_spoken = nil, 0, 0, nil, false
         local function look()
           if waiting and begun >= {begun} and has_spoken then
             local co = waiting
             waiting = nil
             coroutine.resume(co)
           end
         end
         local own_batch = function(event) return event.data.tool_call_id:find('^own') ~= nil end
         panto.ext.on('turn_start', function()
           local config = assert(panto.ext.resolve_model {{ model = 'gated:m' }})
           local agent = assert(panto.agent {{ config = config, store = panto.null_store() }})
           assert(agent:set_tools(assert(panto.ext.agent:tools())))
           local twice = 'delegate:subagents.run delegate:subagents.run'
           job = assert(agent:run_async {{ prompt = twice }})
         end)
         panto.ext.on('subagents.start', function() begun = begun + 1 look() end)
         panto.ext.on('subagents.event', function(event)
           local is_text = event.data.event.type == 'assistant_text_delta'
           has_spoken = has_spoken or is_text and own_batch(event)
           look()
         end)
         panto.ext.on('subagents.end', function(event)
           ended = ended + (own_batch(event) and 1 or 0)
         end)
         panto.ext.on('turn_end', function(event)
           local is_live = job:result() == nil and job:control():alive()
           panto.ext.emit('own', {{ reason = event.reason, ended = ended, is_live = is_live }})
         end)
         panto.ext.register_tool {{ name = 'meet', description = 'd', schema = {{ type = 'object' }},
           handler = function()
             waiting = coroutine.running()
             require('luv').new_timer():start(0, 0, look)
             coroutine.yield()
             return 'met'
           end }}"
    )
}

/// Reads until each of the pairs was in one line; gives all that was read.
#[track_caller]
pub(crate) fn read_all(running: &mut Running<'_>, pairs: &[[&str; 2]]) -> String {
    let (mut text, mut left) = (String::new(), pairs.to_vec());
    while !left.is_empty() {
        let line = running.read_until("");
        left.retain(|pair| !pair.iter().all(|part| line.contains(part)));
        text.push_str(&line);
    }
    text
}
