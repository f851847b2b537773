package jail

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// ordinary is the user as whom tests are run besides.
const ordinary = 61234

// asBoth runs a test as it is, and once more as an ordinary user where it is root's.
func asBoth(t *testing.T, test func(t *testing.T)) {
	t.Run("uid "+strconv.Itoa(os.Getuid()), test)
	if os.Getuid() != 0 || t.Failed() {
		return
	}
	t.Run("ordinary user", func(t *testing.T) {
		temp, err := os.MkdirTemp("", "ramet-ordinary-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(temp)
		if err := os.Chown(temp, ordinary, ordinary); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		self := exec.Command("/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
		self.Dir, self.Env = temp, append(os.Environ(), "TMPDIR="+temp, "HOME="+temp)
		self.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
		out, err := self.CombinedOutput()
		switch {
		case err != nil:
			t.Errorf("as user %d: %v\n%s", ordinary, err, out)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skipf("as user %d:\n%s", ordinary, out)
		}
	})
}

// openAt opens a jail whose scripts have a level.
func openAt(t *testing.T, level script.Level, cfg Config) *Jail {
	t.Helper()
	cfg.Level = level
	j, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	if _, err := j.Level("", ""); err != nil {
		t.Skip(err)
	}
	return j
}

// TestWallsAreTriedAgain that could not be made once, and not each time that somebody asks.
func TestWallsAreTriedAgain(t *testing.T) {
	j, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Level(script.Walled, ""); err != nil {
		t.Skip("no walls here:", err)
	}
	refuse := func(ago time.Duration) {
		j.keep(script.Walled, state{why: domain.Unavailablef("no room")})
		j.probes = time.Now().Add(-ago)
	}
	refuse(time.Second)
	if err := j.Check(script.Walled); err == nil || slices.Contains(j.Levels(), script.Walled) {
		t.Errorf("got %v, want what the probe of a second ago found", err)
	}
	refuse(time.Minute)
	if err := j.Check(script.Walled); err != nil || !slices.Contains(j.Levels(), script.Walled) || len(j.Measures(script.Walled)) == 0 {
		t.Errorf("got %v and levels %v, want walls", err, j.Levels())
	}
}

func TestWalledScripts(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		// As of a node that nohup started in the background of a shell.
		ignored := []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT}
		signal.Ignore(ignored...)
		t.Cleanup(func() { signal.Reset(ignored...) })
		j := openAt(t, script.Walled, Config{})
		for _, tt := range []struct{ name, source, want string }{
			{"it is process 2 of its own", "echo $$", "2\n"},
			{"it leads its session", "read -r pid name state ppid group session rest </proc/$$/stat; echo $ppid $group $session", "1 2 2\n"},
			{"it sees its own processes only", "set -- /proc/[0-9]*; echo $#", "2\n"}, // init and itself
			{"the system is there, and nothing else", "ls -d /usr /etc /home /root /var /run /srv /mnt /sys /boot 2>/dev/null", "/etc\n/usr\n"},
			{"the system is read-only", "for d in / /usr /etc /dev /proc; do ( : >$d/probe ) 2>/dev/null && echo $d; done; true", ""},
			{"its folder is its own", "pwd | grep -q '^/' && echo x >file && mkdir folder && cat file", "x\n"},
			{"it has room for small files", "echo x >/tmp/file && echo y >/dev/shm/file && cat /tmp/file /dev/shm/file", "x\ny\n"},
			{"that room ends", "head -c 300M /dev/zero >/tmp/big 2>/dev/null || echo full", "full\n"},
			{"it finds /tmp and /dev/shm empty but for its folder", "ls /dev/shm; ls /tmp | grep -v -e '^Test' -e '^ramet-ordinary'", ""},
			{"devices work", "echo x >/dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c; echo y >/dev/stdout; ls /dev/sda /dev/kvm " +
				"/dev/mem 2>/dev/null", "2\n2\ny\n"},
			{"it has no rights", "grep -h -e ^Cap /proc/self/status | sort -u -k2 | wc -l; grep -c 0000000000000000 /proc/self/status >/dev/null && id -u " +
				"| grep -qx 0 || echo ordinary", "1\nordinary\n"},
			{"it hears signals", "grep -e SigBlk -e SigIgn /proc/self/status | sort -u -k2 | wc -l; kill -PIPE $$", "1\n"},
			{"no descriptors are inherited", "for f in /proc/$$/fd/?*; do [ -e $f ] && echo ${f##*/}; done", "0\n1\n2\n"},
			{"it cannot make namespaces or mounts", "unshare -U true 2>/dev/null || echo no; mount -t tmpfs x /tmp 2>/dev/null || echo no", "no\nno\n"},
			{"it cannot end its process 1", "kill -9 1 2>/dev/null; kill -INT 1 2>/dev/null; echo on", "on\n"},
			{"limits are as they are asked for", "ulimit -n; ulimit -f; ulimit -c", "99\n2048\n0\n"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				_, said := run(t, t.Context(), j, tt.source, script.Limits{FileBytes: 1 << 20, Files: 99})
				if tt.name == "that room ends" {
					_, said = run(t, t.Context(), j, tt.source, script.Limits{})
				}
				if said != tt.want {
					t.Errorf("got %q, want %q", said, tt.want)
				}
			})
		}
	})
}

func TestWalledEnds(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		j := openAt(t, script.Walled, Config{})
		for _, tt := range []struct {
			source string
			want   script.Exit
		}{
			{"exit 7", script.Exit{Code: 7}},
			{"exit 143", script.Exit{Code: 143}},
			{"kill -TERM $$", script.Exit{Code: 143, Signal: unix.SIGTERM}},
			{"kill -KILL $$", script.Exit{Code: 137, Signal: unix.SIGKILL}},
			{"kill -PIPE $$", script.Exit{Code: 141, Signal: unix.SIGPIPE}},
			{"setsid sleep 300 & (sleep 300 &) & exit 3", script.Exit{Code: 3}},
		} {
			if exit, said := run(t, t.Context(), j, tt.source, script.Limits{}); exit != tt.want {
				t.Errorf("%s: got %+v, want %+v: %s", tt.source, exit, tt.want, said)
			}
		}
		t.Run("a program that is not there", func(t *testing.T) {
			_, err := j.Start(Spec{Args: []string{"/no/such/program"}, Dir: t.TempDir(), Stdout: os.Stdout, Stderr: os.Stderr})
			if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/program") {
				t.Errorf("got %v", err)
			}
		})
		t.Run("one that is told to stop", func(t *testing.T) {
			// The shell dies at once; what it was waiting for has its time.
			const source = `sh -c 'trap "echo told; exit 0" TERM; echo ready; while :; do sleep 0.02; done' & wait`
			exit, said := stopWhen(t, j, source, "ready")
			if exit.Signal != unix.SIGTERM || !strings.HasSuffix(said, "told\n") {
				t.Errorf("got %+v, %q", exit, said)
			}
		})
	})
}

// stopWhen runs a script and tells it to stop when it has said a line.
func stopWhen(t *testing.T, j *Jail, source, line string) (script.Exit, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p, err := j.Start(Spec{Args: []string{"/bin/sh", "-c", source}, Env: []string{"PATH=" + script.DefaultPath}, Dir: t.TempDir(), Stdout: write, Stderr: write})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		buffer := make([]byte, 4096)
		for {
			n, err := read.Read(buffer)
			text.Write(buffer[:n])
			if strings.Contains(text.String(), line+"\n") {
				cancel()
			}
			if err != nil {
				said <- text.String()
				return
			}
		}
	}()
	exit, _ := p.Await(ctx, time.Minute)
	return exit, <-said
}

func TestProcessesAreCountedForEachJob(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, level := range []script.Level{script.Walled, script.Sealed} {
			j := openAt(t, level, Config{})
			// One with all that it may have, while another starts as many.
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan struct{})
			ready := make(chan struct{})
			go func() {
				defer close(first)
				stopWhenDone(t, j, ctx, "n=0; while [ $n -lt 40 ]; do sleep 60 & n=$((n+1)); done; echo began; wait", ready)
			}()
			<-ready
			_, said := run(t, t.Context(), j, "n=0; while [ $n -lt 40 ]; do sleep 60 & n=$((n+1)); done; echo began", script.Limits{Processes: 50})
			if said != "began\n" {
				t.Errorf("%s, the second job of 40 processes: got %q", level, said)
			}
			_, said = run(t, t.Context(), j, "n=0; while [ $n -lt 60 ]; do sleep 60 & n=$((n+1)); done; echo began", script.Limits{Processes: 50})
			if strings.Contains(said, "began") {
				t.Errorf("%s: a job has 60 processes where 50 are allowed: %q", level, said)
			}
			cancel()
			<-first
		}
	})
}

// stopWhenDone runs a script until ctx ends, and closes ready at its first word.
func stopWhenDone(t *testing.T, j *Jail, ctx context.Context, source string, ready chan struct{}) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Error(err)
		close(ready)
		return
	}
	defer read.Close()
	p, err := j.Start(Spec{Args: []string{"/bin/sh", "-c", source}, Env: []string{"PATH=" + script.DefaultPath}, Dir: t.TempDir(), Stdout: write, Stderr: write,
		Limits: script.Limits{Processes: 50}})
	write.Close()
	if err != nil {
		t.Error(err)
		close(ready)
		return
	}
	_, _ = read.Read(make([]byte, 64))
	close(ready)
	p.Await(ctx, time.Minute)
}

func TestWhatIsHiddenIsNotThere(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		dir := t.TempDir()
		if os.Getuid() == 0 {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		put(t, filepath.Join(dir, "seen/file"))
		put(t, filepath.Join(dir, "seen/secret/key"))
		put(t, filepath.Join(dir, "seen/token"))
		if err := os.Chmod(filepath.Join(dir, "seen/file"), 0o644); err != nil {
			t.Fatal(err)
		}
		j := openAt(t, script.Walled, Config{See: []string{filepath.Join(dir, "seen")},
			Hide: []string{filepath.Join(dir, "seen/secret"), filepath.Join(dir, "seen/token")}})
		_, said := run(t, t.Context(), j, "cd "+dir+"/seen; cat file; ls secret; cat token; echo x >file", script.Limits{})
		if !strings.HasPrefix(said, "hello") || strings.Count(said, "hello") != 1 || strings.Contains(said, "key") {
			t.Errorf("got %q", said)
		}
	})
}

// A file that was there when somebody looked, and is gone when the walls are made (as
// the journal of a database), keeps no script from running; one that is there and
// cannot be hidden does.
func TestWhatIsHiddenMayGo(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "seen/file"))
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(dir, "seen")
	j := openAt(t, script.Walled, Config{See: []string{seen}, Hide: []string{filepath.Join(seen, "journal")}})
	if err := os.Symlink("/gone", filepath.Join(seen, "journal")); err != nil { // which Lstat finds, and mount does not
		t.Fatal(err)
	}
	if exit, said := run(t, t.Context(), j, "ls "+seen, script.Limits{}); exit.Code != 0 || !strings.Contains(said, "file") {
		t.Errorf("got %+v: %s", exit, said)
	}
}

// Whatever is promised of walls is seen by the probe wherever walls can be had:
// a measure that is not in force is a warning to the operator.
func TestMeasuresOfWalls(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, level := range []script.Level{script.Walled, script.Sealed} {
			j := openAt(t, level, Config{})
			for _, m := range j.Measures(level) {
				if !m.InForce {
					t.Errorf("%s: %s: %s", level, m.Name, m.Detail)
				}
			}
		}
	})
}
