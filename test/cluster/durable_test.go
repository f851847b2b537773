package cluster

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/redistest"
)

// durableSteps is how many steps each script has, of which its child does the last.
const durableSteps = 5

// durableFirst is the id of the first job: smaller ones are for children.
const durableFirst = 1_000_000

// durableScript tells a witness of each step when it is done, with its key, and sleeps long
// enough to be suspended once. At its end it calls a script that does so, too: that of a second
// child would have another key.
const durableScript = `set -e
cat > child.sh <<'CHILD'
ramet step s5 -- sh -c 'echo "$RAMET_PARAM_JOB 5 $RAMET_STEP_KEY" >> "$RAMET_PARAM_WITNESS"; sleep 0.2'
CHILD
for i in 1 2 3 4; do
  ramet step "s$i" -- sh -c 'echo "$JOB '"$i"' $RAMET_STEP_KEY" >> "$WITNESS"; sleep 0.2; echo "$RAMET_STEP_KEY"' > said
  if test $i = 2; then ramet sleep nap 2s; fi
done
ramet call child --script child.sh --param "JOB=$JOB" --param "WITNESS=$WITNESS"
`

// TestDurableScriptsOnAKilledNode kills a node in the middle of steps, again and again. A
// witness outside counts what steps did, by key.
func TestDurableScriptsOnAKilledNode(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { killDurable(t, "", func(int) {}) })
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t, "appendonly yes", "appendfsync always", "save \"\"")
		killDurable(t, s.URL(), func(round int) {
			if round%4 == 3 {
				s.Kill()
				s.Restart()
			}
		})
	})
}

func killDurable(t *testing.T, board string, between func(round int)) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, err := os.MkdirTemp("", "rd") // a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, seen := filepath.Join(dir, "data"), filepath.Join(dir, "seen")
	if err := os.Mkdir(seen, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(seen, 0o777); err != nil { // walled scripts of root's node are nobody's
		t.Fatal(err)
	}
	witness, config := filepath.Join(seen, "witness"), filepath.Join(dir, "ramet.yaml")
	// A life may be too short for a step, several times in a row.
	if err := os.WriteFile(config, []byte("max_losses: 50\nwalls:\n  write: ["+seen+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, "node", func() *exec.Cmd {
		args := []string{"serve", "--data", data, "--listen", "none", "--config", config, "--lease", "5s"}
		if board != "" {
			args = append(args, "--board", board)
		}
		return exec.Command(path, args...)
	})
	// A life takes seconds, and leaves three jobs of as many.
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience+time.Duration(rounds(t))*10*time.Second)
	defer cancel()
	n := 0
	submit := func(c *client.Client) {
		for range 3 {
			job := domain.Job{ID: durableFirst + domain.JobID(n), Script: durableScript, ScriptType: domain.ScriptShell, Retries: 9,
				EnvVars: map[string]string{"JOB": fmt.Sprint(n + 1), "WITNESS": witness}}
			if _, err := c.SubmitJob(ctx, 1, job); err != nil {
				return // it is killed: the same job again in the next life
			}
			n++
		}
	}
	for round := range rounds(t) {
		submit(dialNode(t, d, data))
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond) // the moment of the kill is what is tried
		d.kill()
		between(round)
		d.start()
	}
	c := dialNode(t, d, data)
	for id := 1; id <= n; id++ {
		j, err := c.Wait(ctx, 1, domain.JobKey{Caller: 1, ID: durableFirst + domain.JobID(id-1)})
		if err != nil || j.Status != domain.JobFinished || j.Remembered != durableSteps+2 || j.Calls != 1 {
			t.Fatalf("job %d: %+v, %v", id, j, err)
		}
	}
	again := checkWitness(t, witness, n)
	t.Logf("%d jobs of %d steps over %d lives; %d steps were begun again that had not been remembered", n, durableSteps, rounds(t)+1, again)
}

// dialNode reaches a node of a data folder, once it answers.
func dialNode(t *testing.T, d *daemon, data string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Socket: cli.SocketPath(data), Cookie: cli.CookiePath(data)})
	if err != nil {
		t.Fatal(err)
	}
	d.awaken(c)
	return c
}

// checkWitness wants of each step of each job that it was done, always with one key that no
// other has, and never again once the next one had begun: then it was remembered.
func checkWitness(t *testing.T, path string, jobs int) (again int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	keys, of, at := map[string]string{}, map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) != 3 {
			continue // a line that a kill cut
		}
		job, step, key := w[0], w[1], w[2]
		name := job + "/" + step
		if was := keys[name]; was != "" {
			again++
			if was != key {
				t.Errorf("step %s had the keys %s and %s", name, was, key)
			}
		}
		if was := of[key]; was != "" && was != name {
			t.Errorf("steps %s and %s have one key", name, was)
		}
		keys[name], of[key] = key, name
		if step < at[job] {
			t.Errorf("step %s was done again after step %s had begun", name, at[job])
		}
		at[job] = max(at[job], step)
	}
	for job := 1; job <= jobs; job++ {
		for step := 1; step <= durableSteps; step++ {
			if keys[fmt.Sprintf("%d/%d", job, step)] == "" {
				t.Errorf("nobody saw step %d of job %d", step, job)
			}
		}
	}
	return again
}
