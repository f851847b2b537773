package domain

// ContextRole is what an actor is in a context, the strongest it has there.
type ContextRole string

// The roles, weakest first. Each may do all that those before it may.
const (
	Stranger ContextRole = "stranger"
	Reader   ContextRole = "reader"
	Executor ContextRole = "executor"
	Admin    ContextRole = "admin"
)

// Verb is what somebody wants to do.
type Verb string

// The verbs. Those of a node concern no context.
const (
	VerbCreate Verb = "create"
	VerbDelete Verb = "delete"
	VerbStart  Verb = "start"
	VerbCancel Verb = "cancel"
	VerbStop   Verb = "stop" // a job or a flow: cancel it, which the operator may in every context
	VerbRetry  Verb = "retry"
	VerbGrant  Verb = "grant" // change the context's lists
	VerbAudit  Verb = "audit" // look for what is stuck, and repair it
	VerbBan    Verb = "ban"   // hold work up, and let it go on
	// VerbPlace is writing the records of runners: jobs go where these say.
	VerbPlace Verb = "place_runners"

	VerbRead    Verb = "read"
	VerbReadEnv Verb = "read_env" // the values of environment variables
	VerbReview  Verb = "review"   // the audit log
	// VerbTake is taking a message out of one's own inbox.
	VerbTake Verb = "take"

	VerbClaim     Verb = "claim"
	VerbExtend    Verb = "extend"
	VerbFinish    Verb = "finish"
	VerbAppendLog Verb = "append_log"
	VerbPop       Verb = "pop"  // from a queue
	VerbMeet      Verb = "meet" // mark a prerequisite as met

	// VerbWrite is making, changing and deleting the context's objects, which its
	// jobs do for their callers.
	VerbWrite Verb = "write"

	// VerbKnow is reading what concerns everybody who is registered, actors of other
	// sites too: one's own record and tokens, the schemas of files, a node's name.
	VerbKnow Verb = "know"
	// VerbOwn is changing what is one's own and of no context: one's tokens.
	VerbOwn Verb = "own"
	// VerbInspect is reading what tells of the nodes and of everybody: metrics, nodes,
	// runners, peers, actors and their keys, bans and audit log of the board.
	// VerbAdministrate is changing that: making actors and contexts, for example. Both
	// are the operator's, whoever else is admin somewhere.
	VerbInspect      Verb = "inspect"
	VerbAdministrate Verb = "administrate"
)

// Words of the audit log for what takes one of these verbs.
const (
	VerbRevoke Verb = "revoke" // takes VerbGrant
	VerbUpdate Verb = "update"
)

// Reads reports whether a verb changes nothing.
func (v Verb) Reads() bool {
	return v == VerbRead || v == VerbReadEnv || v == VerbReview || v == VerbKnow || v == VerbInspect
}

// OnNode reports whether a verb concerns no context.
func (v Verb) OnNode() bool {
	return v == VerbKnow || v == VerbOwn || v == VerbInspect || v == VerbAdministrate
}
