package http_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
)

// These tests are of the whole way: command line and client, this door, the
// real engine, and a runner.

func TestTheGoClient(t *testing.T) {
	r := newRig(t)
	c, err := client.New(client.Config{URL: r.server.URL, Token: func(context.Context) (string, error) { return r.token(admin), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	out, err := c.Submit(ctx, 7, []api.JobInput{
		{Job: domain.Job{ID: 1, Script: "say one\nsay two\nsum=3", ScriptType: "lines"}},
		{Job: domain.Job{ID: 2, Script: "fail", ScriptType: "lines"}, Depends: []domain.JobID{1}},
		{Job: domain.Job{ID: 3, Script: "hang", ScriptType: "lines"}},
	})
	if err != nil || len(out.Jobs) != 3 || out.Jobs[1].Error != nil {
		t.Fatalf("got %+v, %v", out, err)
	}
	key := func(id domain.JobID) domain.JobKey { return domain.JobKey{Caller: admin, ID: id} }
	var lines []string
	j, err := c.FollowLogs(ctx, 7, key(1), 0, func(l domain.Log) error { lines = append(lines, l.Line); return nil })
	if err != nil || j.Result["sum"] != "3" || !slices.Equal(lines, []string{"one", "two"}) {
		t.Errorf("follow: got %+v, %q, %v", j, lines, err)
	}
	if j, err := c.Wait(ctx, 7, key(2)); err != nil || j.Reason != domain.ReasonScriptFailed {
		t.Errorf("wait: got %+v, %v", j, err)
	}
	if _, err := c.Cancel(ctx, 7, key(3)); err != nil {
		t.Error(err)
	}
	if j, err := c.Wait(ctx, 7, key(3)); err != nil || j.Reason != domain.ReasonCancelled {
		t.Errorf("cancel: got %+v, %v", j, err)
	}
	if j, err := c.Retry(ctx, 7, key(2)); err != nil || j.Final() && j.Status != domain.JobError {
		t.Errorf("retry: got %+v, %v", j, err)
	}
	if x, err := c.Explain(ctx, 7, key(1)); err != nil || x.Standing != "ended" {
		t.Errorf("explain: got %+v, %v", x, err)
	}
	if l, err := c.Logs(ctx, 7, key(1), 1, 5); err != nil || len(l.Logs) != 1 || l.From != 1 {
		t.Errorf("logs: got %+v, %v", l, err)
	}
	page, err := c.Jobs(ctx, api.ListJobsParams{Context: 7, Limit: 2})
	if err != nil || len(page.Jobs) != 2 || page.Next == "" {
		t.Fatalf("list: got %+v, %v", page, err)
	}
	if rest, err := c.Jobs(ctx, api.ListJobsParams{Context: 7, Limit: 2, Cursor: page.Next}); err != nil || len(rest.Jobs) != 1 || rest.Next != "" {
		t.Errorf("the rest of the list: got %+v, %v", rest, err)
	}
	if err := c.MeetPrerequisite(ctx, 7, "coffee"); err != nil {
		t.Error(err)
	}
	if a, err := c.Audit(ctx, 7); err != nil || a.Context != 7 {
		t.Errorf("audit: got %+v, %v", a, err)
	}
	if tenant, err := c.Context(ctx, 7); err != nil || tenant.ID != 7 {
		t.Errorf("context: got %+v, %v", tenant, err)
	}
	if list, err := c.Contexts(ctx); err != nil || len(list.Contexts) != 2 {
		t.Errorf("contexts: got %+v, %v", list, err)
	}
	if _, err := c.Actors(ctx); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("actors: got %v", err)
	}
	if a, err := c.Actor(ctx, reader, 7); err != nil || a.Pubkey != r.keys[reader].Pubkey() {
		t.Errorf("actor: got %+v, %v", a, err)
	}
	if _, err := c.Runners(ctx, 7); err != nil {
		t.Error(err)
	}
	if i, err := c.Info(ctx); err != nil || i.Name != "n1" {
		t.Errorf("info: got %+v, %v", i, err)
	}
	if _, err := c.Job(ctx, 7, key(9)); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("no job: got %v", err)
	}
}

func TestTheGoClientOverRights(t *testing.T) {
	r := newRig(t)
	as := func(actor domain.ActorID) *client.Client {
		c, err := client.New(client.Config{URL: r.server.URL, Token: func(context.Context) (string, error) { return r.token(actor), nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	boss, operator, other := as(admin), as(domain.Operator), as(stranger)
	ctx := t.Context()
	if got, err := boss.Grant(ctx, 7, stranger, "reader"); err != nil || !got.Changed || !slices.Contains(got.Readers, stranger) {
		t.Fatalf("grant: got %+v, %v", got, err)
	}
	if _, err := other.Jobs(ctx, api.ListJobsParams{Context: 7}); err != nil {
		t.Errorf("with the right: got %v", err)
	}
	if got, err := boss.Revoke(ctx, 7, stranger, ""); err != nil || !got.Changed || slices.Contains(got.Readers, stranger) {
		t.Errorf("revoke: got %+v, %v", got, err)
	}
	if _, err := other.Jobs(ctx, api.ListJobsParams{Context: 7}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("without it: got %v", err)
	}
	if _, err := boss.Revoke(ctx, 7, admin, "admin"); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("the last admin: got %v", err)
	}
	weight := 3
	if got, err := boss.UpdateContext(ctx, 7, domain.TenantChange{Weight: &weight}); err != nil || got.Weight != 3 {
		t.Errorf("update: got %+v, %v", got, err)
	}
	list := domain.List[domain.Address]{"a place"}
	if got, err := operator.UpdateActor(ctx, stranger, domain.ActorChange{Address: &list}); err != nil || !slices.Equal(got.Address, list) {
		t.Errorf("update the actor: got %+v, %v", got, err)
	}
	if _, err := other.UpdateActor(ctx, stranger, domain.ActorChange{Address: &list}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("update oneself: got %v", err)
	}
	lines, err := boss.AuditLog(ctx, 7, api.AuditLogFilter{Outcome: domain.AuditDone, Actor: admin, Limit: 1})
	if err != nil || len(lines.Entries) == 0 || lines.Entries[0].Verb != "update" || lines.Next == "" && len(lines.Entries) < 3 {
		t.Fatalf("audit log: got %+v, %v", lines, err)
	}
	if lines.Next != "" {
		if rest, err := boss.AuditLog(ctx, 7, api.AuditLogFilter{Cursor: lines.Next}); err != nil || len(rest.Entries) == 0 {
			t.Errorf("its rest: got %+v, %v", rest, err)
		}
	}
	if lines, err := operator.AuditLog(ctx, 0, api.AuditLogFilter{}); err != nil || len(lines.Entries) != 1 || lines.Entries[0].Object != "actor:40" {
		t.Errorf("the node's: got %+v, %v", lines, err)
	}
	if _, err := other.Nodes(ctx); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("nodes, for a stranger: got %v", err)
	}
	if nodes, err := operator.Nodes(ctx); err != nil || len(nodes.Nodes) != 0 {
		t.Errorf("nodes: got %+v, %v", nodes, err)
	}
	for _, name := range []string{"n1", "a/b?c", ".."} {
		if _, err := operator.Node(ctx, name); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("node %q: got %v", name, err)
		}
	}
	if _, err := operator.Runner(ctx, 5, 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a runner: got %v", err)
	}
	if _, err := other.Runner(ctx, 5, 7); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a context's runner: got %v", err)
	}
}

// command runs one command line whose embedded node is this rig's.
func (r *rig) command(ctx context.Context, args ...string) (code int, out, errs string) {
	r.Helper()
	var o, e bytes.Buffer
	socket := r.listenSocket()
	hooks := cli.Hooks{
		Version: "v1",
		Embedded: func(context.Context, cli.EmbeddedOptions) (cli.Embedded, error) {
			return cli.Embedded{Socket: socket, Cookie: filepath.Join(filepath.Dir(socket), cookie.File), Stop: func() error { return nil }}, nil
		},
		NewKey: func(path string, register func(string) (domain.ActorID, error)) (string, string, error) {
			k, err := identity.CreateKey(path, register)
			if err != nil {
				return "", "", err
			}
			return k.Pubkey(), k.Mycelium(), nil
		},
		Token: func(file, audience string, ttl time.Duration, _ identity.Claims) (string, error) {
			k, err := identity.LoadKey(file)
			if err != nil {
				return "", err
			}
			return k.Token(audience, ttl)
		},
	}
	code = cli.Main(ctx, append(args, "--embed"), cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, hooks)
	return code, o.String(), e.String()
}

func TestTheCommandLine(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	t.Setenv("RAMET_DATA", "")
	t.Setenv("RAMET_NODE", "")
	file := filepath.Join(dir, "jobs.yaml")
	text := "jobs:\n  - {id: 1, script_type: lines, script: \"say hello\\nsum=3\"}\n  - {id: 2, script_type: lines, script: fail, dependends: [1]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "me.key")
	data := []string{"--data", dir}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string // in stdout and stderr together
	}{
		{"a jobs file whose second job fails", append([]string{"run", file}, data...), 1, "hello"},
		{"its result", append([]string{"job", "show", "job:1:1", "-o", "json"}, data...), 0, `"sum": "3"`},
		{"a job that is not there", append([]string{"job", "show", "job:1:9"}, data...), 4, "does not exist"},
		{"the list", append([]string{"job", "list"}, data...), 0, "job:1:2"},
		{"logs", append([]string{"job", "logs", "job:1:1"}, data...), 0, "hello"},
		{"why", append([]string{"job", "explain", "job:1:1"}, data...), 0, "ended"},
		{"a new actor", append([]string{"actor", "new", "--file", key}, data...), 0, "mycelium"},
		{"never over a key", append([]string{"actor", "new", "--file", key}, data...), 5, "not overwritten"},
		{"a new context", append([]string{"context", "create", "--admin", "1"}, data...), 0, ""},
		{"a context with a member nobody knows", append([]string{"context", "create", "--admin", "99"}, data...), 2, "actor 99 does not exist"},
		{"a context of others", append([]string{"job", "list", "--context", "7"}, data...), 3, "may not read in context 7"},
		{"runners", append([]string{"runner", "list"}, data...), 0, ""},
		{"an audit", append([]string{"audit"}, data...), 0, ""},
		{"the new actor over TCP, with its key", []string{"context", "list", "--node", r.server.URL + "#n1", "--key", key}, 0, ""},
		{"no right over TCP", []string{"actor", "list", "--node", r.server.URL + "#n1", "--key", key}, 3, "operator"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := r.command(t.Context(), c.args...)
			if code != c.code || !strings.Contains(out+errs, c.want) {
				t.Errorf("ramet %s: got %d\n%s%s\nwant %d and %q", strings.Join(c.args, " "), code, out, errs, c.code, c.want)
			}
		})
	}
}
