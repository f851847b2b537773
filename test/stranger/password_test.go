package stranger

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/redistest"
)

// password is what nobody may find.
const password = "hunter2-never-shown"

// TestAPasswordIsNotToBeSeen gives a node passwords in each way there is and
// looks for them where others could: its arguments, its environment and that of
// its children, its log, and what it tells of itself.
func TestAPasswordIsNotToBeSeen(t *testing.T) {
	redis := redistest.Start(t, "requirepass "+password)
	board := "redis://:" + password + "@" + redis.Addr()
	archive := "postgres://me:" + password + "@127.0.0.1:1/away" // it is asked in vain, and complained of
	ways := []struct {
		name     string
		give     func(r *rig) []string
		warnings int
	}{
		{"flags", func(*rig) []string { return []string{"--board", board, "--archive=" + archive} }, 2},
		{"variables", func(r *rig) []string {
			r.env = append(r.env, "RAMET_BOARD="+board, "RAMET_ARCHIVE="+archive)
			return nil
		}, 0},
		{"files", func(r *rig) []string {
			return []string{"--board", "@" + r.write("board", board+"\n"), "--archive", "@" + r.write("archive", archive)}
		}, 0},
		{"the config file", func(r *rig) []string {
			return []string{"--config", r.write("ramet.yaml", "board: "+board+"\narchive: '@"+r.write("archive", archive)+"'\n")}
		}, 0},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			forUsers(t, func(r *rig) {
				s := r.serve(append(way.give(r), "--name", "of-"+strconv.Itoa(r.uid))...)
				seen := map[string]string{
					"a job": r.job("shell", "tr '\\0' '\\n' < /proc/$PPID/cmdline; tr '\\0' '\\n' < /proc/$PPID/environ; env; true"),
					"info":  r.must("info", "-o", "json"), "audit log": r.must("audit", "log", "-o", "json"), "node list": r.must("node", "list", "-o", "json"),
				}
				seen["doctor"], _, _ = r.run("doctor") // it has the archive to complain of
				for _, file := range []string{"cmdline", "environ"} {
					text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), file))
					if err != nil {
						r.Skipf("this system has no /proc: %v", err)
					}
					seen[file] = string(text)
				}
				seen["log"] = s.log()
				for what, text := range seen {
					if text == "" || strings.Contains(text, password) {
						r.Errorf("%s: want something, without the password; got\n%s", what, text)
					}
				}
				if got := strings.Count(s.log(), "has a login on the command line"); got != way.warnings {
					r.Errorf("got %d warnings, want %d:\n%s", got, way.warnings, s.log())
				}
			})
		})
	}
}

// TestNoMistakeShowsAPassword types URLs wrongly.
func TestNoMistakeShowsAPassword(t *testing.T) {
	forUsers(t, func(r *rig) {
		login := "me:" + password + "@"
		for _, args := range []string{
			"serve --board " + login + "host:6379",
			"serve --board redis://" + login + "host:port",
			"serve --board redis://" + login + "127.0.0.1:1",
			"serve --board redis://" + login + "127.0.0.1:1?x=y",
			"serve --board redis://" + login + "127.0.0.1:1/7",
			"serve --board rediss://me:%%" + password + "@host",
			"serve --board unix://" + login + "/none.sock",
			"serve --board mysql://" + login + "host",
			"serve --board etcd://" + login + "host?x=y",
			"serve --board etcd://" + login + "127.0.0.1:port",
			"serve --board @" + r.write("two", "redis://"+login+"a\nredis://"+login+"b\n"),
			"serve --archive " + login + "host/db",
			"serve --archive mysql://" + login + "host/db",
			"serve --archive postgres://" + login + "host:port/db",
			"serve --archive postgres://host/db?sslmode=x&password=" + password,
			"serve --stream " + login + "host",
			"serve --stream nats:" + login + "host",
			"serve --stream nats://" + login + "host:port",
			"serve --stream nats://" + login + "host?x=y",
			"serve --bus " + login + "host",
			"serve --bus nats:" + login + "host",
			"serve --bus nats:?leaf=nats://" + login + "host",
			"serve --bus nats://" + login + "host:port",
			"serve --bus nats://" + login + "host?x=y",
			"serve --bus mycelium:http://" + login + "host",
			"serve --bus mycelium:http://host/?x=" + login,
			"serve --resp " + login + "host",
			"serve --listen " + login + "host",
			"info --node http://" + login + "host",
			"info --node http://" + login + "host:port",
			"info --board redis://" + login + "127.0.0.1:1",
		} {
			out, errs, code := r.run(strings.Fields(args)...)
			if code == 0 || strings.Contains(out+errs, password) {
				r.Errorf("ramet %s: got exit code %d and\n%s%s", args, code, out, errs)
			}
		}
		r.env = []string{"RAMET_BOARD=redis://" + login + "host", "RAMET_ARCHIVE=postgres://" + login + "host"}
		if out := r.must("serve", "--help"); strings.Contains(out, password) {
			r.Errorf("help: got\n%s", out)
		}
	})
}
