---@meta panto.ext

--- `panto.ext`: what the host of a session gives to extensions. Functions for data are typed beside
--- `panto-kit` (`lua/data.lua`), those for files too, the native module beside `panto-lua`.
---
--- Misuse raises at the caller and names the argument. What may happen to correct code is
--- `nil, message`.
---@class panto.ext
---@field json panto.json the same as `panto.json`
---@field dirs panto.ext.Dirs
---@field agent panto.Agent borrowed: the agent whose call runs this code, else the session's
---@field files table<string, function>
local ext = {}

--- What a source file returns: one of these, or a list of them.
---@alias panto.ext.Entry panto.ext.Extension|panto.ext.Tool

---@class panto.ext.Extension
---@field name string
---@field activate async fun() may wait

---@class panto.ext.Tool: panto.ToolDeclaration
---@field handler async fun(input: table, context: panto.ext.ToolContext): string|panto.ext.ToolOutput|nil, string?

---@class panto.ext.ToolOutput
---@field text string?
---@field attachments { data: string, media_type: string? }[]?
---@field details table<string, any>? for whoever reads the session, never for the model
---@field status "ok"|"error"|"cancelled"|nil

--- What a handler knows of its call.
---@class panto.ext.ToolContext
---@field tool_call_id string
---@field tool_name string
---@field batch_id string the same for all calls of one answer
---@field turn_id string
---@field agent panto.Agent whose call it is
---@field output fun(chunk: string) shows output that is not part of the result
---@field progress fun(data: table) tells the session's readers, as the custom event `tool_progress`; a text `note` is said to people
---@field cancelled fun(): boolean whether the turn was asked to stop

---@class panto.ext.Dirs
---@field home string? not in a bundle
---@field project_root string
---@field cwd string
---@field sessions string? where sessions of `cwd` lie, whether one is kept there or not
---@field layers panto.ext.Layer[] lowest precedence first

---@class panto.ext.Layer
---@field name "base"|"user"|"project"|"local"|"bundle"
---@field dir string need not be there

--- Registers a tool. An extension may register its own again, which replaces it.
---@param tool panto.ext.Tool
---@return nil
function ext.register_tool(tool) end

--- Registers a slash command. Of several with one name the one from the highest layer counts, of
--- one layer the first; the others wait until it is taken back, which is said once.
---@param command panto.ext.Command
---@return boolean counts
function ext.register_command(command) end

---@class panto.ext.Command
---@field name string letters, digits, `-`, `_`, `.` and `:`
---@field description string
---@field handler async fun(args: string): string|panto.ext.CommandOutput|nil
---@field fallback boolean? any other command of the name counts instead
---@field file string? where it is written; what is said about it names the file

---@class panto.ext.CommandOutput
---@field text string? for people
---@field data any for programs
---@field exit_code integer? of a process that runs only the command, from 0 to 255
---@field prompt string? submitted as if the person had said it

--- Registers a wire protocol, for `protocol = "NAME"` of a provider. Nothing in it may wait.
---@param protocol panto.ext.Protocol
---@return nil
function ext.register_protocol(protocol) end

---@class panto.ext.Protocol
---@field name string
---@field open fun(request: table): table
---@field effort_levels { label: string, detail: string? }[]? up to 32
---@field cancel_turn function?
---@field reset_context fun(context: string)?
---@field release_context fun(context: string)?
---@field close function?

--- Takes back what the calling extension has registered.
---@param kind "tool"|"command"|"protocol"
---@param name string
---@return boolean was_there
function ext.unregister(kind, name) end

--- Subscribes to an event, behind those who did before. The handler may not wait.
---@param name string
---@param handler fun(event: panto.ext.Event)
---@return nil
function ext.on(name, handler) end

--- An event. Its other fields depend on its name.
---@class panto.ext.Event
---@field name string
---@field data any of a custom event
---@field get_component fun(self: panto.ext.Event): any nil without a screen
---@field set_component fun(self: panto.ext.Event, component: any): panto.ext.ComponentHandle

---@class panto.ext.ComponentHandle
---@field invalidate fun(self: panto.ext.ComponentHandle)
---@field set_pinned fun(self: panto.ext.ComponentHandle, pinned: boolean)
---@field alive fun(self: panto.ext.ComponentHandle): boolean

--- Sets a section of the session agent's system prompt, or takes it away.
---@param name string
---@param text string? nil takes it away
---@param options { order: integer? }? lower stands first; 500 without it
---@return nil
function ext.section(name, text, options) end

--- Tells the person something, once.
---@param level "info"|"warning"|"error"
---@param message string
---@param position { file: string, line: integer?, column: integer? }?
---@return nil
function ext.diagnose(level, message, position) end

--- Tells an event of one's own to those who subscribed; with data, to the session's readers too.
---@param name string
---@param data any what JSON can say
---@return nil
function ext.emit(name, data) end

--- Describes the session. There is none in `panto x` without a model that can be asked.
---@return panto.ext.SessionInfo? info
---@return string? message
function ext.session_info() end

---@class panto.ext.SessionInfo
---@field id string
---@field directory string? where its file lies; nil if nothing is kept
---@field cwd string
---@field model string
---@field reasoning string?

--- Describes the providers, lists models, or describes one.
---@param options { provider: string?, query: string?, limit: integer?, model: string? }?
---@return panto.ext.ProviderInfo[]|panto.ext.ModelInfo[]|panto.ext.ModelInfo|nil found
---@return integer|string|nil matching of a list of models how many match in all; else a message
function ext.models(options) end

---@class panto.ext.ProviderInfo
---@field name string
---@field title string
---@field configured boolean
---@field usable boolean whether it has a key, or needs none
---@field models integer

---@class panto.ext.ModelInfo
---@field model string the reference, `provider:alias`
---@field name string?
---@field context_window integer?
---@field max_output integer?
---@field reasoning string[]? the labels that it knows; nil if it takes any
---@field price { input: number?, output: number?, cache_read: number?, cache_write: number? }?

--- Makes a model configuration for `panto.agent` and `agent:set_config`. An empty `reasoning` is no
--- label at all.
---@param options { model: string?, reasoning: string?, tool_choice: panto.ToolChoice? }?
---@return panto.Config? config
---@return string? message
function ext.resolve_model(options) end

--- Gives the directory that the session works in; the process's own may be another one.
---@return string directory
function ext.cwd() end

--- Gives what the configuration has for an extension.
---@param name string
---@return table<string, any> settings empty if there are none
function ext.settings(name) end

--- Asks the person.
---@async
---@param options { question: string, choices: string[]? }
---@return string? answer
---@return string? message
function ext.ask(options) end

--- Lists the slash commands.
---@return { name: string, description: string, source: string }[]
function ext.commands() end

--- Runs a program in the terminal; only inside a slash command of the terminal.
---@param options { argv: string[] }
---@return table
function ext.run_foreground(options) end

--- Gives the environment for programs that are started, without providers' keys.
---@return string[] variables `NAME=VALUE` each
function ext.shell_environment() end

return ext
