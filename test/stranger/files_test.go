package stranger

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllThatIsMadeIsPrivate has a node made with no umask at all make all it
// can, some of it outside of its folder, and looks at the modes.
func TestAllThatIsMadeIsPrivate(t *testing.T) {
	forUsers(t, func(r *rig) {
		serve := "umask 0; exec '" + ramet + "' serve --archive sqlite:" + filepath.Join(r.home, "outside.db") + " --resp unix:" +
			filepath.Join(r.home, "redis.sock") +
			" --bus 'nats:?leaf_listen=127.0.0.1:0' --config " + r.write("ramet.yaml", "retention: 1s\n")
		s := r.start(r.command(t.Context(), "sh", "-c", serve))
		if out := r.job("shell", "umask; touch made; mkdir folder; echo x=1 > $RAMET_RESULT"); !strings.Contains(out, "0077") {
			r.Errorf("a script begins with umask %s", out)
		}
		_, _, _ = r.run("job", "submit", r.write("bad.sh", "touch made; exit 3")) // its files are kept
		if _, _, code := r.run("job", "wait", "2"); code == 0 {
			r.Error("the job did not fail")
		}
		r.command(t.Context(), "sh", "-c", "umask 0; exec '"+ramet+"' actor new --file '"+filepath.Join(r.home, "bob.key")+"'").Run()
		if out, err := r.command(t.Context(), "sh", "-c", "umask 0; cd '"+r.home+"' && echo 'print(1)' | '"+ramet+"' rhai - && '"+ramet+
			"' run --data throwaway bad.sh").CombinedOutput(); err == nil {
			r.Errorf("a throw-away node: got\n%s", out)
		}
		s.stop()
		seen := map[string]bool{}
		err := filepath.WalkDir(r.home, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if os.IsNotExist(err) {
				return nil
			} else if err != nil {
				return err
			}
			name, _ := filepath.Rel(r.home, path)
			seen[name] = true
			if info.Mode().Perm()&0o077 != 0 && e.Type()&fs.ModeSymlink == 0 {
				r.Errorf("%s: got %v", name, info.Mode())
			}
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
		for _, name := range []string{"outside.db", "bob.key", "data/cookie", "data/streams", "data/nats", "data/board", "data/contexts", "throwaway/archive.db"} {
			if !seen[name] {
				r.Errorf("%s was not made: the test looks at too little", name)
			}
		}
	})
}

// TestWhatWasOpenIsClosed starts a node on a folder that an earlier version, or
// a copy, left open to others.
func TestWhatWasOpenIsClosed(t *testing.T) {
	forUsers(t, func(r *rig) {
		r.serve().stop()
		for _, name := range []string{"board", "streams", "node.json", "archive.db"} {
			if err := os.Chmod(filepath.Join(r.data, name), 0o755); err != nil {
				r.Fatal(err)
			}
		}
		s := r.serve()
		for _, name := range []string{"board", "streams", "node.json", "archive.db"} {
			if info, err := os.Stat(filepath.Join(r.data, name)); err != nil || info.Mode().Perm()&0o077 != 0 {
				r.Errorf("%s: got %v, %v", name, info.Mode(), err)
			}
		}
		if !strings.Contains(s.log(), "other users could look into the data folder") {
			r.Errorf("it was not said:\n%s", s.log())
		}
	})
}

// TestWhatWasClosedToTheNodeIsOpened gives files of the node the modes that a script
// at level open, which is the same user, can give them.
func TestWhatWasClosedToTheNodeIsOpened(t *testing.T) {
	forUsers(t, func(r *rig) {
		shut := func(names ...string) {
			for _, name := range names {
				if err := os.Chmod(filepath.Join(r.data, name), 0); err != nil {
					r.Fatal(err)
				}
			}
		}
		s := r.serve()
		r.job("shell", "true")
		shut("contexts")
		r.job("shell", "true")
		if r.uid != 0 && !strings.Contains(s.log(), "closed to the node's own user") {
			r.Errorf("it was not said while the node ran:\n%s", s.log())
		}
		s.stop()
		shut("operator.key", "node.key", "node.json", "node.lock", "archive.db", "board", "streams", "contexts", ".")
		if r.uid != 0 {
			_, errs, code := r.run("job", "list")
			if code == 0 || !strings.Contains(errs, "its mode keeps you out") {
				r.Errorf("a command: got exit code %d, %s", code, errs)
			}
		}
		s = r.serve()
		r.job("shell", "true")
		if !strings.Contains(s.log(), "closed to the node's own user") {
			r.Errorf("it was not said at the start:\n%s", s.log())
		}
	})
}
