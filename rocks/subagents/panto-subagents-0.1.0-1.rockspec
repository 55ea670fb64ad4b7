rockspec_format = "3.0"
package = "panto-subagents"
version = "0.1.0-1"
source = {
  url = "file://init.lua",
  dir = ".",
}
description = {
  summary = "Delegation for panto: a model hands tasks to child agents",
  license = "MIT OR Apache-2.0",
}
dependencies = { "lua ~> 5.4" }
build = {
  type = "builtin",
  modules = {
    ["subagents"] = "init.lua",
    ["subagents.arguments"] = "arguments.lua",
    ["subagents.builtin"] = "builtin.lua",
    ["subagents.catalog"] = "catalog.lua",
    ["subagents.children"] = "children.lua",
    ["subagents.commands"] = "commands.lua",
    ["subagents.diagnostics"] = "diagnostics.lua",
    ["subagents.ending"] = "ending.lua",
    ["subagents.files"] = "files.lua",
    ["subagents.gate"] = "gate.lua",
    ["subagents.header"] = "header.lua",
    ["subagents.jobs"] = "jobs.lua",
    ["subagents.listing"] = "listing.lua",
    ["subagents.manifest"] = "manifest.lua",
    ["subagents.profiles"] = "profiles.lua",
    ["subagents.progress"] = "progress.lua",
    ["subagents.prompts"] = "prompts.lua",
    ["subagents.reading"] = "reading.lua",
    ["subagents.restriction"] = "restriction.lua",
    ["subagents.results"] = "results.lua",
    ["subagents.runs"] = "runs.lua",
    ["subagents.snapshot"] = "snapshot.lua",
    ["subagents.text"] = "text.lua",
    ["subagents.waking"] = "waking.lua",
  },
}
