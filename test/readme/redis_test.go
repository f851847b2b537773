package readme

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// transcript is a talk at redis-cli that a page shows.
var transcript = regexp.MustCompile("(?ms)^```redis-cli\n(.*?)^```$")

// prompt stands before what is typed.
var prompt = regexp.MustCompile(`^127\.0\.0\.1:6379\[\d+\](?:\(TX\))?> (.*)$`)

// exchange is one command and what is shown of its answer.
type exchange struct{ command, answer string }

// TestTranscripts types everything that the pages on Redis show at redis-cli
// before the Redis door of a node, as actor 12 in context 7, where the saga parcel has had an event.
func TestTranscripts(t *testing.T) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("redis-cli is not installed: apt-get install redis-tools")
	}
	for _, page := range []string{"redis-layout", "redis-door"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			talks := transcript.FindAllStringSubmatch(string(text), -1)
			if len(talks) == 0 {
				t.Fatal("no transcripts")
			}
			url := startNode(t)
			for _, talk := range talks {
				cli := startCLI(t, url)
				for _, x := range exchanges(t, talk[1]) {
					cli.replay(x)
				}
			}
		})
	}
}

// exchanges takes a transcript apart.
func exchanges(t *testing.T, text string) (list []exchange) {
	for line := range strings.Lines(text) {
		if m := prompt.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			list = append(list, exchange{command: m[1]})
		} else if len(list) == 0 {
			t.Fatalf("the transcript begins with %q, want a prompt", line)
		} else {
			list[len(list)-1].answer += line
		}
	}
	return list
}

// startNode starts a node with context 7, whose admin is actor 12, and returns
// the URL by which that actor is let in at its Redis door.
func startNode(t *testing.T) string {
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "ramet-redis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := filepath.Join(dir, "keys", "twelve.key")
	if err := os.Mkdir(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	ramet := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "ramet"), append(args, "--embed", "--data", dir)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("ramet %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	ramet("actor", "new", "--id", "12", "--file", key)
	ramet("actor", "new", "--id", "14", "--file", filepath.Join(dir, "fourteen.key"))
	ramet("context", "create", "--id", "7", "--admin", "12", "--reader", "14")
	node := exec.Command(filepath.Join(bin, "ramet"), "serve", "--data", dir, "--name", "nina", "--resp", "127.0.0.1:0", "--circle", "friends=7")
	log, err := node.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
	})
	lines := bufio.NewScanner(log)
	where := regexp.MustCompile(` resp=(\S+)`)
	for lines.Scan() {
		if m := where.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, log)
			definition := filepath.Join(dir, "parcel.yaml")
			if err := os.WriteFile(definition, []byte(parcel), 0o600); err != nil {
				t.Fatal(err)
			}
			ramet("saga", "apply", definition, "--context", "7", "--key", key)
			ramet("event", "publish", "Packed", "--aggregate", "Parcel/17", "--id", "p-1", "--payload", `{"item": "tea"}`, "--context", "7", "--key", key)
			return "redis://12:" + ramet("token", "--key", key, "--audience", "nina") + "@" + m[1] + "/7"
		}
	}
	t.Fatal("the node did not start")
	return ""
}

// parcel is the saga of context 7.
const parcel = `
name: parcel
triggers: [{of: Parcel, types: [Packed, Fetched]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {Packed: handle, "*": ignore}}
  waiting: {on: {Fetched: handle, "*": ignore}}
  gone: {final: true}
nodes:
  state: event.payload
  next: 'if event.type == "Packed" { "waiting" } else { "gone" }'
`

// cli is a redis-cli that is typed into.
type cli struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	// multi says that what is typed waits for EXEC.
	multi bool
}

func startCLI(t *testing.T, url string) *cli {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	cmd := exec.CommandContext(ctx, "redis-cli", "--no-auth-warning", "--no-raw", "-u", url)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
		cancel()
		if errs.Len() > 0 {
			t.Errorf("redis-cli says %s", &errs)
		}
	})
	return &cli{t: t, in: in, out: bufio.NewReader(out)}
}

// replay types a command and compares its answer. What reads is typed again
// until it is as shown: some of it takes the node a moment.
func (c *cli) replay(x exchange) {
	c.t.Helper()
	begun := time.Now()
	for {
		got := c.do(x.command)
		if got == x.answer {
			return
		}
		if name, _, _ := strings.Cut(x.command, " "); !strings.HasPrefix(name, "HGET") && !strings.HasPrefix(name, "HMGET") && name != "LLEN" ||
			time.Since(begun) > patience/4 {
			c.t.Errorf("%s: not what is shown (-shown +got):\n%s", x.command, cmp.Diff(x.answer, got))
			return
		}
		time.Sleep(20 * time.Millisecond) // another process cannot be waited for in any other way
	}
}

// do types a command and returns what is printed before the answer to a second
// one. After MULTI each answer is one line.
func (c *cli) do(command string) string {
	c.t.Helper()
	const mark = "-- the end --"
	c.multi = command == "MULTI" || c.multi && command != "EXEC" && command != "DISCARD"
	fmt.Fprintln(c.in, command)
	if !c.multi {
		fmt.Fprintf(c.in, "ECHO %q\n", mark)
	}
	var b strings.Builder
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%s: redis-cli ended: %v\n%s", command, err, &b)
		}
		if strings.Contains(line, mark) {
			return b.String()
		}
		if b.WriteString(line); c.multi {
			return b.String()
		}
	}
}
