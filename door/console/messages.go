package console

import (
	"cmp"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has messages, one's own inbox, and the sites that messages go to.

// inboxMost is how many messages of the inbox are shown at once.
const inboxMost = 50

func (c *Console) mountMessages() {
	c.liveOwn("GET messages", (*visit).messagesPage)
	c.liveOwn("GET messages/inbox", (*visit).inboxPage)
	c.inContext("POST messages/inbox/take", (*visit).takeMessage)
	c.mountMany("messages/inbox", (*visit).manyInbox)
	c.liveOwn("GET messages/peers", (*visit).peersPage)
	c.liveOwn("GET messages/{caller}/{id}", (*visit).messagePage)
}

// messagesList renders a list below Messages.
func (v *visit) messagesList(name string, s *sentence, command []string, b *listBody) error {
	b.Title = name
	for _, t := range [...]struct{ name, path string }{{"Messages", "messages"}, {"My inbox", "messages/inbox"}, {"Peers", "messages/peers"}} {
		b.Tabs = append(b.Tabs, tab{t.name, v.path("%s", t.path), t.name == name})
	}
	crumbs := []crumb{{"Messages", ""}}
	if name != "Messages" {
		crumbs = []crumb{{"Messages", v.path("messages")}, {name, ""}}
	}
	v.render(nethttp.StatusOK, page{Title: name, Noun: "Messages", Command: v.command(command...), Follow: lists(), Sentence: s,
		Body: b, Crumbs: crumbs})
	return nil
}

// messageState is where a message stands.
func messageState(m *domain.Message) state {
	switch m.Status {
	case domain.MessageProcessed:
		return state{"processed", succeeded}
	case domain.MessageError:
		return state{cmp.Or(string(m.Stage), "went wrong"), errored}
	case domain.MessageAcknowledged:
		return state{"acknowledged", running}
	}
	return state{"on its way", waiting}
}

// destination is where a message goes, as people say it.
func destination(m *api.MessageView) string {
	var to []string
	if m.DstActor != 0 {
		to = append(to, actorText(m.DstActor))
	}
	if m.DstContext != 0 {
		to = append(to, "context "+strconv.Itoa(int(m.DstContext)))
	}
	if m.Topic != "" {
		to = append(to, m.Topic)
	}
	if m.Peer != "" {
		to = append(to, "at "+m.Peer)
	}
	return strings.Join(to, ", ")
}

func (v *visit) messageLink(m *domain.Message) string {
	return v.path("messages/%d/%d", m.CallerID, m.ID)
}

// messageAt is where a message is shown, by its key; "" for no message's.
func (v *visit) messageAt(key string) string {
	k, err := domain.ParseMessageKey(key)
	if err != nil {
		return ""
	}
	return v.path("messages/%d/%d", k.Caller, k.ID)
}

func messageKey(m *domain.Message) string {
	return domain.MessageKey{Caller: m.CallerID, ID: m.ID}.String()
}

// messageTable lists messages. Those of the inbox, of which the first has a place there from
// 0 on, have their text, and can be taken; another list has place -1.
func (v *visit) messageTable(name string, list []*api.MessageView, place int) table {
	take := place >= 0
	t := table{Name: name, Head: []column{{"Message", "id"}, {"State", ""}, {"Kind", ""}, {"From", ""}, {"To", "name"}, {"Why", "why"}, {"Made", ""}}}
	if take {
		t.Head[5] = column{"Text", "why"}
		t.Head = append(t.Head, column{"Do", ""})
	}
	for i, m := range list {
		link, why := v.messageLink(&m.Message), m.Error
		r := row{Link: link, Cells: []entry{linkTo(messageKey(&m.Message), link), chip(messageState(&m.Message)), words(string(m.MessageType)),
			words(actorText(m.CallerID)), words(destination(m))}}
		if take {
			why = m.Message.Message
		}
		r.Cells = append(r.Cells, words(why), when(v.past(int64(m.CreatedAt)*1000)))
		if take {
			r.Cells = append(r.Cells, entry{Actions: v.takeActions(m, place+i)})
			if v.may(api.InboxTake.Operation) {
				r.Pick = pick(messageKey(&m.Message))
			}
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func (v *visit) messagesPage() error {
	q := v.r.URL.Query()
	caller, _ := strconv.ParseUint(q.Get("caller"), 10, 32) // what is no number filters nothing
	list, err := call(v, api.MessageList, api.ListMessagesParams{Context: v.tenant.ID, Status: domain.MessageStatus(q.Get("status")),
		Type:   domain.MessageType(q.Get("kind")),
		Caller: domain.ActorID(caller), Box: q.Get("box"), Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return err
	}
	b := &listBody{Tables: []table{v.messageTable("Messages", list.Messages, -1)}, Filtered: filtered(q), All: v.path("messages"),
		Pager: v.pagerOf("messages", q, list.Next),
		None:  "No message was sent or received.", Make: v.command("message", "send", "good morning", "--to", "12"),
		Fields: v.fields(typed("kind", "Kind", q.Get("kind"), "chat"), typed("caller", "Sender", q.Get("caller"), "12"), typed("box", "Box",
			q.Get("box"), "sent"))}
	for _, f := range [...]struct{ name, status string }{{"All", ""}, {"On their way", string(domain.MessageDispatched)}, {"Acknowledged",
		string(domain.MessageAcknowledged)},
		{"Processed", string(domain.MessageProcessed)}, {"Went wrong", string(domain.MessageError)}} {
		b.Filters = append(b.Filters, v.choice("messages", f.name, "status", f.status))
	}
	return v.messagesList("Messages", nil, v.flags([]string{"message", "list"}, "status", "kind", "caller", "box"), b)
}

func (v *visit) inboxPage() error {
	from, _ := strconv.Atoi(v.r.FormValue("from")) // what is no number is the beginning
	list, err := call(v, api.InboxList, api.InboxParams{Context: v.tenant.ID, From: max(from, 0), Limit: inboxMost})
	if err != nil {
		return err
	}
	b := &listBody{Many: v.manyOf(v.manyInbox()), Tables: []table{v.messageTable("Inbox", list.Messages, max(from, 0))},
		None: "Your inbox in this context is empty: no message waits for actor " + strconv.Itoa(int(v.who.Actor)) + "."}
	if len(list.Messages) == inboxMost {
		b.Pager.Next = v.path("messages/inbox?from=%d", max(from, 0)+inboxMost)
	}
	if from > 0 {
		b.Pager.First = v.path("messages/inbox")
	}
	return v.messagesList("My inbox", nil, []string{"inbox"}, b)
}

// takeActions offer to take a message out of the inbox.
func (v *visit) takeActions(m *api.MessageView, place int) []action {
	if !v.may(api.InboxTake.Operation) {
		return nil
	}
	return []action{{Name: "Take", Verb: "Take 1 message", Post: v.path("messages/inbox/take"), Fields: []field{{"key", messageKey(&m.Message)}},
		Will: "The message leaves your inbox; it stays in the list of messages.", Command: v.command("inbox", "--take", "--from", strconv.Itoa(place),
			"--limit", "1")}}
}

func (v *visit) takeMessage() error {
	_, err := call(v, api.InboxTake, api.TakeParams{Context: v.tenant.ID, Key: v.r.PostFormValue("key")})
	return v.did(v.path("messages/inbox"), "The message was taken.", err)
}

func (v *visit) messagePage() error {
	caller, err := strconv.ParseUint(v.r.PathValue("caller"), 10, 32)
	id, err2 := strconv.ParseUint(v.r.PathValue("id"), 10, 32)
	if err != nil || err2 != nil {
		return domain.Invalidf("there is no message %q", domain.PlainText(v.r.URL.Path, 100))
	}
	p := api.MessageParams{Context: v.tenant.ID, Caller: domain.ActorID(caller), ID: domain.MessageID(id)}
	m, err := call(v, api.MessageShow, p)
	if err != nil {
		return err
	}
	st := messageState(&m.Message)
	b := &detailBody{Title: p.Key().String(), State: st, Facts: []fact{{Name: "kind", Text: string(m.MessageType)}, {Name: "from",
		Text: actorText(m.CallerID)}, {Name: "to", Text: destination(&m)},
		{Name: "made", At: v.past(int64(m.CreatedAt) * 1000)}, {Name: "changed", At: v.past(int64(m.UpdatedAt) * 1000)}}}
	if m.ReplyTo != "" {
		b.Facts = append(b.Facts, fact{Name: "answers", Text: m.ReplyTo})
	}
	if m.Message.Message != "" {
		b.Sections = append(b.Sections, section{Title: "Text", Lines: linesOf(m.Message.Message)})
	}
	if m.Flow != "" {
		b.Sections = append(b.Sections, section{Title: "Flow to be made there", Lines: linesOf(indented(m.Flow))})
	}
	b.Sections = append(b.Sections, v.messageWork(&m)...)
	b.Sections = append(b.Sections, section{Title: "Who signed", Pairs: signedBy(&m.Message), None: noneOf(len(signedBy(&m.Message)),
		"It is not signed: it never left this board.")})
	s := &sentence{State: st, Since: v.past(int64(m.UpdatedAt) * 1000), Ended: m.Status == domain.MessageProcessed || m.Status == domain.MessageError,
		Text: upper(m.Error) + "."}
	if m.Error == "" {
		x, err := call(v, api.MessageExplain, p)
		if err != nil {
			return err
		}
		s.Text = upper(x.Text) + "."
	}
	v.render(nethttp.StatusOK, page{Title: b.Title, Noun: "Messages", Command: v.command("message", "show", b.Title),
		Follow: lists(), Sentence: s, Body: b,
		Crumbs: []crumb{{"Messages", v.path("messages")}, {b.Title, ""}}})
	return nil
}

// messageWork are what was made of a message's jobs, and how they ended.
func (v *visit) messageWork(m *api.MessageView) (list []section) {
	made := table{Name: "Made here", Head: []column{{"Here", "id"}, {"There", "id"}, {"Why not", "why"}}}
	for _, w := range m.Made {
		made.Rows = append(made.Rows, row{Link: v.jobLink(w.Key), Cells: []entry{{Text: w.Key, Link: v.jobLink(w.Key)}, words(w.Origin), words(w.Error)}})
	}
	if len(made.Rows) > 0 {
		list = append(list, section{Title: "What was made of it here", Table: &made})
	}
	results := table{Name: "Results", Head: []column{{"Job", "id"}, {"State", ""}, {"Why", "why"}, {"Took", "num"}}}
	for i := range m.Results {
		j := &m.Results[i]
		results.Rows = append(results.Rows, row{Link: "", Cells: []entry{words(strconv.Itoa(int(j.ID))), chip(jobState(j)), words(j.Error), words(v.took(j.StartedMs,
			j.FinishedMs))}})
	}
	if len(results.Rows) > 0 {
		list = append(list, section{Title: "How its jobs ended", Table: &results})
	}
	return list
}

// signedBy is the receipt of a message: who signed, and what came back.
func signedBy(m *domain.Message) (list []pair) {
	for _, p := range []pair{{"sender's key", m.Pubkey}, {"signature", m.Signature}, {"node", m.Node}, {"key there", m.Origin}} {
		if p.Value != "" {
			list = append(list, p)
		}
	}
	return list
}

func (v *visit) peersPage() error {
	p := api.ListPeersParams{}
	if !v.mayOnNode(api.PeerList.Operation) {
		p.Context = v.tenant.ID
	}
	list, err := call(v, api.PeerList, p)
	if err != nil {
		return err
	}
	t := table{Name: "Peers", Head: []column{{"Peer", "name"}, {"Nodes", "num"}, {"Reached by", "why"}, {"Its operator is", "name"}, {"Note", "name"},
		{"Known since", ""}}}
	for i := range list.Peers {
		peer := &list.Peers[i]
		var by []string
		for _, n := range peer.Nodes {
			for _, a := range n.Addresses {
				by = append(by, a.Scheme())
			}
		}
		t.Rows = append(t.Rows, row{Link: "", Cells: []entry{words(peer.Name), number(int64(len(peer.Nodes))), words(strings.Join(by, ", ")),
			words(actorText(peer.OperatorID)), words(peer.Note), when(v.past(int64(peer.CreatedAt) * 1000))}})
	}
	return v.messagesList("Peers", nil, []string{"peer", "list"}, &listBody{Tables: []table{t},
		Intro: "Other sites that this one exchanges messages with.", None: "No other site is known.",
		Make: v.command("peer", "add", "acme.json")})
}
