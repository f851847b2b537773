package natsstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// This file is the one table of who may do what with the streams on a server:
// what the embedded server allows, what [Accounts] writes for an external one,
// and what is looked at when a node starts.
//
//	who        account            may
//	node       of the streams     the rows of nodeRights, and its own inbox
//	producer   one of its own     publish the events of aggregates of one context, or of all
//
// Whoever may publish commands can ask for any effect and steer any saga, so
// nobody but nodes may. Producers have accounts of their own, and not only
// permissions: JetStream answers a publisher at a subject that he names, and with
// permissions alone that could be a stream of another context.

// right is a subject to which a node publishes.
type right struct{ subject, why string }

// nodeRights are what a node publishes to. {stream} stands for each of the
// streams, one after the other.
var nodeRights = []right{
	{"$JS.API.STREAM.INFO.{stream}", "how it is configured, what it holds"},
	{"$JS.API.STREAM.CREATE.{stream}", "it is missing, and nobody said create=no"},
	{"$JS.API.STREAM.PURGE.{stream}", "ramet trims it"},
	{"$JS.API.STREAM.MSG.GET.{stream}", "one message, from its leader"},
	{"$JS.API.CONSUMER.INFO.{stream}.*", ""},
	{"$JS.API.CONSUMER.CREATE.{stream}.>", "readers, queues, scans"},
	{"$JS.API.CONSUMER.DELETE.{stream}.*", "a reader shuts out the one before it"},
	{"$JS.API.CONSUMER.MSG.NEXT.{stream}.*", "messages are fetched"},
	{"$JS.ACK.{stream}.>", "and acknowledged"},
	{natslink.WhoAmI, "which rights it has, at its start"},
}

// publishes are the subjects to which a node publishes: the table, and what the
// streams take.
func publishes() (list []string) {
	for _, r := range nodeRights {
		if !strings.Contains(r.subject, "{stream}") {
			list = append(list, r.subject)
			continue
		}
		for _, name := range domain.StreamNames {
			list = append(list, strings.ReplaceAll(r.subject, "{stream}", string(name)))
		}
	}
	for _, name := range domain.StreamNames {
		list = append(list, name.Subjects()...)
	}
	return list
}

// tooMuch are subjects to which no node publishes: whoever may, has the rights of
// the server's owner.
var tooMuch = []string{
	"$JS.API.STREAM.DELETE." + string(domain.AggregateEvents), "$JS.API.STREAM.UPDATE." + string(domain.WorkflowCommands),
	"$JS.API.STREAM.CREATE.another", "$JS.API.CONSUMER.DELETE.another.consumer",
}

// inbox begins the subjects at which a node gets answers. No producer, whose
// client listens below _INBOX, hears them.
func inbox(user string) string { return "_INBOX_" + user }

// nodePermissions are those of a node on the embedded server.
func nodePermissions(user string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publishes()},
		Subscribe: &server.SubjectPermission{Allow: []string{inbox(user) + ".>"}},
	}
}

// Anybody is the context of a producer of events of all contexts, NoContext that
// of one in a deployment without.
const (
	Anybody   = "*"
	NoContext = ""
)

// eventsOf are the subjects to which the producer of a context publishes.
func eventsOf(tenant string) []string {
	switch tenant {
	case Anybody:
		return domain.AggregateEvents.Subjects()
	case NoContext:
		return []string{"aggregate.*.*"}
	}
	return []string{"tenant." + tenant + ".aggregate.*.*"}
}

// producers is the account of the producers of a context. No context is called
// like what stands for none: a part of a subject has no dot.
func producers(tenant string) string {
	switch tenant {
	case Anybody:
		return "producers"
	case NoContext:
		return "producers.none"
	}
	return "producers-" + tenant
}

// quoted writes subjects as a list of the server's configuration.
func quoted(subjects []string) string {
	var list []string
	for _, s := range subjects {
		list = append(list, fmt.Sprintf("%q", s))
	}
	return "[" + strings.Join(list, ", ") + "]"
}
