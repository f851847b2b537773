package api

import "github.com/ramet-run/ramet/domain"

// The operations on nodes.
var (
	NodeList = op[NodePage](Operation{
		Name: "node.list", Method: "GET", Path: "/v1/nodes", Right: domain.VerbInspect, Much: true,
		Summary: "List the nodes of the board: what they are, and when they were last seen.",
	}, ListNodesParams{})
	NodeShow = op[domain.Node](Operation{
		Name: "node.show", Method: "GET", Path: "/v1/nodes/{node}", Right: domain.VerbInspect,
		Summary: "Show one node of the board.",
	}, NodeParams{Name: "n1"})
	NodeInfo = op[Info](Operation{
		Name: "node.info", Method: "GET", Path: "/v1/info", Right: domain.VerbKnow,
		Summary: "Show what node this is and how durable its board is.",
	}, NodeInfoParams{})
	NodeDrain = op[NodeDraining](Operation{
		Name: "node.drain", Method: "POST", Path: "/admin/drain", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Begin the graceful end of this node: it takes nothing new, ends what it has, sends what waits, and stops.",
	}, AdminParams{})
	NodeReload = op[NodeReloaded](Operation{
		Name: "node.reload", Method: "POST", Path: "/admin/reload", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Read this node's config again: effects, secrets, and which sagas it serves.",
	}, AdminParams{})
	NodeLogLevel = op[NodeLogging](Operation{
		Name: "node.log_level", Method: "POST", Path: "/admin/log-level", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Change from which level on this node writes lines to its log, until it ends.",
	}, LogLevelParams{Level: "debug"})
	NodeBackup = op[Bytes](Operation{
		Name: "node.backup", Method: "POST", Path: "/admin/backup", Right: domain.VerbAdministrate, ByHand: true, Bytes: "application/vnd.ramet.backup",
		Summary: "Answer with a backup of the board, and of the archive, the event streams, the files that jobs left and the keys in the data folder of this node. " +
			"It is whole where its last block says so.",
	}, AdminParams{})
	NodeDiscard = op[ValueDiscarded](Operation{
		Name: "node.discard", Method: "POST", Path: "/admin/discard", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Remove a value from the board's store that cannot be read, by the name that node.info has of it.",
		Errors:  []error{domain.ErrNotFound},
	}, DiscardParams{Name: "7/job:12:2001"})
)

// NodeInfoParams are the parameters of node.info: none.
type NodeInfoParams struct{}

// NodeDraining answers node.drain: the node has begun to end.
type NodeDraining struct {
	Name     string `json:"name"`
	Draining bool   `json:"draining"`
}

// NodeReloaded answers node.reload: the config was read. Effects are those that
// the node does from now on. Restart are the keys of the config file that have changed
// since the node began, and that it takes up only when it is started again.
type NodeReloaded struct {
	Name    string              `json:"name"`
	Effects domain.List[string] `json:"effects"`
	Restart []string            `json:"restart,omitzero"`
}

// AdminParams are the parameters of node.drain, node.reload and node.backup: none.
type AdminParams struct{}

// LogLevelParams say from which level on lines are written: debug, info, warn or error.
type LogLevelParams struct {
	Level string `json:"level"`
}

// NodeLogging answers node.log_level. Before is the level that was.
type NodeLogging struct {
	Name   string `json:"name"`
	Level  string `json:"level"`
	Before string `json:"before"`
}

// DiscardParams name a value that cannot be read, as node.info does.
type DiscardParams struct {
	Name string `json:"name"`
}

// ValueDiscarded answers node.discard.
type ValueDiscarded struct {
	Name string `json:"name"`
}

// ListNodesParams are the parameters of node.list: none.
type ListNodesParams struct{}

// NodeParams name a node.
type NodeParams struct {
	Name string `json:"-" path:"node"`
}

// NodePage lists the nodes of a board, by name.
type NodePage struct {
	Nodes []domain.Node `json:"nodes"`
}
