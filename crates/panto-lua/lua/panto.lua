---@meta panto

--- The native `panto` module: agents, streams, conversations, stores, jobs, JSON and text.
---
--- Misuse raises at the caller and names the argument. What may happen to correct code is
--- `nil, message`, and `nil, message, code` where a session fails.
---@class panto
---@field json panto.json
---@field text panto.text
local panto = {}

--- Makes an agent, with a new session or one of the store's.
---
--- It has no tools before `set_tools`. Its session is locked until it is closed or collected.
---@async
---@param options panto.AgentOptions
---@return panto.Agent? agent
---@return string? message
---@return panto.SessionFailure? code
function panto.agent(options) end

---@class panto.AgentOptions
---@field config panto.Config
---@field store panto.Store|panto.TableStore a table only if the host makes stores of tables
---@field session_id string? goes on with this session; without it a new one begins
---@field cwd string? the directory that a new session names
---@field system string? the system prompt
---@field label string? names the agent for people, in up to 100 bytes; no model sees it

--- Makes an empty conversation.
---@return panto.Conversation
function panto.conversation() end

--- Makes a store that keeps nothing.
---@return panto.Store
function panto.null_store() end

--- Makes a store of a directory, which need not exist.
---@param options panto.FileStoreOptions
---@return panto.Store
function panto.file_system_jsonl_store(options) end

---@class panto.FileStoreOptions
---@field dir string

--- A model configuration of the host. Opaque but for these names.
---@class panto.Config
---@field model string the model reference, `provider:alias`
---@field reasoning string? the reasoning label
---@field style string the protocol
---@field wire_model string the model's name for its provider

---@alias panto.ToolChoice "auto"|"none"|"required"|{ name: string }

---@class panto.ToolDeclaration
---@field name string
---@field description string
---@field schema table JSON Schema of an object

---@class panto.Tool: panto.ToolDeclaration
---@field handler function

--- An agent. The host's own, which it lends as `panto.ext.agent`, refuses what would run turns.
---@class panto.Agent
local Agent = {}

--- Starts a turn that is read event by event.
---@param prompt string|panto.Block[]|panto.Prompt
---@return panto.Stream? stream
---@return string? message
function Agent:run(prompt) end

--- A turn's beginning: either `prompt` or `blocks`.
---@class panto.Prompt
---@field prompt string|panto.Block[]?
---@field blocks panto.Block[]?
---@field metadata table<string, any>? on the user message; a JSON object
---@field dispatch_tools boolean? false ends the turn at the first answer, its calls not run

--- Starts a turn that runs by itself.
---@param options panto.JobOptions
---@return panto.Job? job
---@return string? message
function Agent:run_async(options) end

---@class panto.JobOptions: panto.Prompt
---@field wake_fd integer? the writing end of a pipe, or a socket: a byte wakes its reader

--- Queues something for the host's agent to hear; only on a borrowed one.
---@param prompt string|panto.Block[]
---@param options panto.SubmitOptions?
---@return true? queued
---@return string? message
function Agent:submit(prompt, options) end

---@class panto.SubmitOptions
---@field followup boolean? waits for the turn to end; else it lands after the next batch of tools

--- Adds a tool that this agent alone can run. An agent with one cannot run jobs.
---@param tool panto.Tool
---@return true? registered
---@return string? message
function Agent:register_tool(tool) end

--- A copy of the tools that the model sees.
---@return panto.ToolDeclaration[]? tools
---@return string? message
function Agent:tools() end

--- Sets the tools that the model sees, from the next request on.
---@param tools panto.ToolDeclaration[]
---@return true? set
---@return string? message
function Agent:set_tools(tools) end

--- Sets who answers, from the next request on.
---@param config panto.Config|panto.ConfigOptions
---@return true? set
---@return string? message
function Agent:set_config(config) end

---@class panto.ConfigOptions
---@field config panto.Config? else the present one stays
---@field tool_choice panto.ToolChoice?

--- The system prompt.
---@return string? text
---@return string? message
function Agent:system_prompt() end

--- Sets the system prompt from the next request on; nil takes it away.
---@param text string?
---@return true? set
---@return string? message
function Agent:set_system_prompt(text) end

--- Appends a system message, which the session keeps.
---@async
---@param text string
---@param metadata table<string, any>?
---@return true? appended
---@return string? message
---@return panto.SessionFailure? code
function Agent:add_system_message(text, metadata) end

--- Appends a user message that no turn answers yet.
---@async
---@param blocks string|panto.Block[]
---@param metadata table<string, any>?
---@return true? appended
---@return string? message
---@return panto.SessionFailure? code
function Agent:add_user_message(blocks, metadata) end

--- Replaces a message's metadata, in memory and in the session.
---@async
---@param position integer counted from 1
---@param metadata table<string, any>?
---@return true? set
---@return string? message
---@return panto.SessionFailure? code
function Agent:set_message_metadata(position, metadata) end

--- Replaces what came before the last turns by a summary.
---@async
---@param instructions string? what the summary must heed
---@return true? compacted
---@return string? message
---@return panto.SessionFailure? code
function Agent:compact(instructions) end

--- The session's id.
---@return string? id
---@return string? message
function Agent:session_id() end

--- A snapshot of the conversation.
---@return panto.Conversation? conversation
---@return string? message
function Agent:conversation() end

--- Lets go of the agent and, once its turn has settled, of its session. A live job is cancelled.
---@return true? closed
---@return string? message
function Agent:close() end

--- A turn that is read. It pauses when many events are unread; let go of, it is cancelled.
---@class panto.Stream
local Stream = {}

--- The next event; nil after the last, which is `settled`.
---@async
---@return panto.Event? event
---@return string? message
function Stream:next() end

--- An iterator over the events that are left.
---@async
---@return fun(stream: panto.Stream): panto.Event?
---@return panto.Stream
function Stream:events() end

--- Goes on after a cancel or a lost connection, from the last complete message, in this stream.
---@return panto.Stream? stream
---@return string? message
function Stream:reopen() end

--- Asks the turn to stop.
---@param options panto.CancelOptions?
---@return true
function Stream:cancel(options) end

---@class panto.CancelOptions
---@field grace_ms integer? how long tools may go on; by default as long as the agent allows

--- A turn that runs by itself.
---@class panto.Job
local Job = {}

--- The next buffered event, or nil if there is none now.
---@return panto.Event?
function Job:next_event() end

--- The result; nil while the job runs, and after `close`.
---@return panto.JobResult?
function Job:result() end

--- Asks the turn to stop: its model at once, its tools within the grace period.
---@param options panto.CancelOptions?
---@return true
function Job:request_cancel(options) end

--- A control for others, who cannot read the job.
---@return panto.JobControl
function Job:control() end

--- Frees the job, without waiting. One that still runs is cancelled, and its agent answers that
--- it is closing until it has settled. No wake comes after this.
---@return true
function Job:close() end

---@class panto.JobResult
---@field status "completed"|"failed"|"cancelled"
---@field stop "end"|"tool_calls"|"limit"|"cancelled"|"failed"
---@field text string? what the model said last
---@field error string?
---@field error_kind string? the provider's error class, or `session`, `limit`, `internal`
---@field tool_calls panto.ToolCall[]? with `dispatch_tools = false`: what the model wants
---@field usage panto.Usage
---@field cost number? in US dollars, if all of it is known

---@class panto.ToolCall
---@field id string
---@field name string
---@field input string JSON text, as the model wrote it

--- Cancels and steers a job; keeps neither it nor its agent alive.
---@class panto.JobControl
local JobControl = {}

--- Whether the job still runs and was not closed.
---@return boolean
function JobControl:alive() end

--- As the job's own.
---@param options panto.CancelOptions?
---@return true
function JobControl:request_cancel(options) end

--- Tells the agent something after its next batch of tools.
---@param prompt string|panto.Block[]
---@return true? queued
---@return string? message
function JobControl:steer(prompt) end

--- Tells failures of sessions apart: the third value, behind nil and a message.
---@alias panto.SessionFailure
---| "not_found" no such session
---| "ambiguous" several ids begin so
---| "bad_id" the text is no session's id
---| "in_use" another process has it open
---| "in_use_here" this process has it open
---| "corrupt" its file cannot be read
---| "newer_version" a newer version wrote it
---| "io" the file system failed
---| "refused" the store will never take this
---| "store" a store that is no file system failed

--- A session store.
---@class panto.Store
local Store = {}

--- Every session, last modified first.
---@async
---@return panto.SessionInfo[]? sessions
---@return string? message
---@return panto.SessionFailure? code
function Store:list() end

--- The sessions that were modified last.
---@async
---@param limit integer|{ limit: integer }
---@return panto.SessionInfo[]? sessions
---@return string? message
---@return panto.SessionFailure? code
function Store:list_bounded(limit) end

--- The id that has this beginning.
---@async
---@param id string
---@return string? id
---@return string? message
---@return panto.SessionFailure? code
function Store:resolve(id) end

--- The id of the session that was modified last; nil without a message if there is none.
---@async
---@return string? id
---@return string? message
---@return panto.SessionFailure? code
function Store:latest() end

--- The process that has the session open for writing; true if somebody has, but the system does
--- not tell who; nil without a message if nobody has. Only of stores of the file system.
---@async
---@param id string
---@return integer|true|nil process
---@return string? message
---@return panto.SessionFailure? code
function Store:holder(id) end

--- The conversation of a session, compactions applied.
---@async
---@param id string
---@return panto.Conversation? conversation
---@return string? message
---@return panto.SessionFailure? code
function Store:load(id) end

--- Some messages of a session, as if nothing had been compacted.
---@async
---@param id string
---@param options panto.LoadOptions?
---@return panto.Message[]? messages
---@return string? message
---@return panto.SessionFailure? code
function Store:load_messages(id, options) end

--- A session store that is a table. Its methods must not wait, and give `nil, message` if they fail.
---@class panto.TableStore
---@field create fun(self: table, header: panto.SessionHeader): any, string? called with the first answer
---@field append fun(self: table, id: string, records: panto.SessionRecord[]): any, string? durable on return
---@field load fun(self: table, id: string): panto.StoredSession?, string? nil if there is no such session
---@field list fun(self: table): panto.SessionInfo[]?, string? only `id` must be there
---@field resolve fun(self: table, id: string): string?, string? the whole id of this beginning
---@field latest fun(self: table): string?, string?
---@field list_bounded? fun(self: table, limit: integer): panto.SessionInfo[]?, string?
---@field load_messages? fun(self: table, id: string, options: panto.LoadOptions): panto.SessionRecord[]?, string?

---@class panto.StoredSession
---@field header panto.SessionHeader
---@field records panto.SessionRecord[]

--- What a session begins with. To be kept as it is.
---@class panto.SessionHeader
---@field type "session"
---@field version integer
---@field id string
---@field created string RFC 3339
---@field cwd string
---@field cwd_raw string? base64, of a path that is not UTF-8
---@field metadata table<string, any>

--- What is appended to a session. To be kept as it is, with fields and types that are not here.
---@class panto.SessionRecord
---@field type "message"|"metadata"|"compaction"|"head"|string
---@field at string RFC 3339
---@field id string? of a message or a compaction
---@field parent string|lightuserdata? the id before it, or `json.null`
---@field role string?
---@field blocks table[]?
---@field metadata table<string, any>?
---@field target string|lightuserdata? of metadata and head
---@field summary string?

---@class panto.LoadOptions
---@field limit integer? at most so many messages
---@field max_bytes integer? at most so many stored bytes, but at least one message
---@field from_end boolean? counts both from the end
---@field role "system"|"user"|"assistant"|"tool"?
---@field metadata_key string? only messages whose metadata has this key

---@class panto.SessionInfo
---@field id string
---@field created string RFC 3339, as exact as it is stored
---@field modified string
---@field metadata table<string, any>?
---@field message_count integer
---@field last_user_message string?
---@field api_style string?
---@field base_url string?
---@field model string?
---@field reasoning string?

--- A conversation of one's own: what is changed here changes nothing else.
---@class panto.Conversation
---@operator len: integer
local Conversation = {}

--- How many messages there are.
---@return integer
function Conversation:len() end

--- Labelled plain text, without system messages.
---@return string
function Conversation:transcript() end

--- Copies of the messages. Their blocks can be given to the builders.
---@return panto.Message[]
function Conversation:messages() end

---@param text string
---@param metadata table<string, any>?
---@return integer position
function Conversation:add_system_message(text, metadata) end

---@param blocks string|panto.Block[]
---@param metadata table<string, any>?
---@return integer position
function Conversation:add_user_message(blocks, metadata) end

---@param blocks string|panto.Block[]
---@param metadata table<string, any>?
---@return integer position
function Conversation:add_assistant_message(blocks, metadata) end

--- Appends the results of tool calls.
---@param blocks panto.Block[]
---@param metadata table<string, any>?
---@return integer position
function Conversation:add_tool_message(blocks, metadata) end

--- Appends a summary of what is left out.
---@param text string
---@param metadata table<string, any>?
---@return integer position
function Conversation:add_compaction_summary(text, metadata) end

--- A copy of a message's metadata; nil if it has none.
---@param position integer counted from 1
---@return table<string, any>? metadata
---@return string? message
function Conversation:message_metadata(position) end

--- Replaces a message's metadata, in this conversation only.
---@param position integer counted from 1
---@param metadata table<string, any>?
---@return true? set
---@return string? message
function Conversation:set_message_metadata(position, metadata) end

---@class panto.Message
---@field role "system"|"user"|"assistant"|"tool"
---@field blocks panto.Block[]
---@field metadata table<string, any>?
---@field usage panto.Usage?
---@field stop string?
---@field model string?
---@field reasoning string?

---@class panto.Block
---@field type "text"|"thinking"|"tool_call"|"tool_result"|"attachment"|"opaque"|"summary"
---@field text string?
---@field signature string?
---@field raw string? the provider's own item, as JSON text
---@field id string? of a call, or of the call that a result answers
---@field name string?
---@field input string?
---@field status "ok"|"error"|"cancelled"?
---@field content string|panto.Block[]?
---@field media_type string?
---@field data string? bytes

---@class panto.Usage
---@field input integer?
---@field output integer?
---@field cache_read integer?
---@field cache_write integer?
---@field reasoning integer?

--- What a turn says: `type` is the event's name, and each type has its own fields.
---@class panto.Event
---@field type string
---@field turn_id string?
---@field index integer? counts the blocks of an answer, from 0
---@field delta string? what is new in the block; unread deltas of one block may come as one
---@field text string? the whole text so far
---@field total_bytes integer? how long that is
---@field id string?
---@field tool_name string?
---@field input string? JSON text of a call so far
---@field batch_id string?
---@field output string?
---@field omitted_bytes integer? unread output of a tool that was not kept
---@field result_ok boolean?
---@field status "ok"|"error"|"cancelled"?
---@field details table<string, any>? what a tool tells the host and extensions, and no model
---@field usage panto.Usage?
---@field cost number?
---@field stop string?
---@field error string?
---@field error_kind string?
---@field attempt integer?
---@field max_retries integer?
---@field delay_ms integer?
---@field tokens_before integer?
---@field tokens_after integer?
---@field cancelled boolean?

--- JSON without loss.
---@class panto.json
---@field null lightuserdata null, in objects and arrays
local json = {}

--- Reads one JSON value of any kind.
---@param text string
---@return any value
---@return string? message
function json.decode(text) end

--- Writes one JSON value, keys sorted.
---@param value any
---@return string? text
---@return string? message
function json.encode(value) end

--- Marks a table as an array, so that it is one even when it is empty. Decoded ones are marked.
---@param table table? a new one if it is left out
---@return table
function json.array(table) end

--- A number that no Lua number holds, kept as its text.
---@param text string
---@return userdata
function json.number(text) end

--- The one width authority.
---@class panto.text
local text = {}

--- How many columns the widest line of a text has.
---@param text string
---@return integer
function text.width(text) end

--- The first line of a text, cut to a width.
---@param text string
---@param width integer
---@return string
function text.truncate(text, width) end

--- The lines of a text, each at most so wide.
---@param text string
---@param width integer
---@return string[]
function text.wrap(text, width) end

return panto
