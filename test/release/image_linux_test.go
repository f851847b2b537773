package release

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
)

// TestTheImageRuns runs the program where nothing else is but what the Dockerfile
// puts beside it, as a user that nobody has heard of, and stops it as an engine does.
func TestTheImageRuns(t *testing.T) {
	files := unpack(t)
	if os.Getuid() != 0 {
		t.Skip("only root may enter another root folder")
	}
	entry, command := dockerfile(t)
	root := t.TempDir()
	for p := root; p != "/"; p = filepath.Dir(p) { // its user enters
		if err := os.Chmod(p, mode(t, p)|0o555); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"data": 0o777, "tmp": os.ModeSticky | 0o777} {
		path := filepath.Join(root, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	// What every engine brings along.
	if err := os.Mkdir(filepath.Join(root, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, minor := range map[string]int{"null": 3, "zero": 5, "urandom": 9} {
		path := filepath.Join(root, "dev", name)
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			t.Skipf("devices cannot be made here: %v", err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "ramet"), files["ramet"], 0o555); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *exec.Cmd {
		c := exec.Command(args[0], args[1:]...)
		c.Path, c.Err = args[0], nil // in there
		c.Dir, c.Env = "/", []string{"RAMET_DATA=/data"}
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 10001, Gid: 10001}, Pdeathsig: syscall.SIGKILL}
		return c
	}
	port := testport.Free(t)
	port = port[strings.LastIndex(port, ":")+1:]
	i := slices.Index(command, ":7480")
	if i < 0 {
		t.Fatalf("the image's command %v listens nowhere that is known", command)
	}
	command[i] = "127.0.0.1:" + port
	var log testwait.Log
	node := start(append(slices.Clone(entry), command...)...)
	node.Stdout, node.Stderr = &log, &log
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the node said:\n%s", log.String())
		}
		_ = node.Process.Kill()
	})
	testwait.Until(t, "the node is ready", func() bool {
		resp, err := http.Get("http://127.0.0.1:" + port + "/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	submit := start(append(slices.Clone(entry), "run", "-", "--type", "rhai")...)
	submit.Stdin = strings.NewReader("6 * 7")
	out, err := submit.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("42")) {
		t.Errorf("%v: %s", err, out)
	}
	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// dockerfile is what the image starts.
func dockerfile(t *testing.T) (entry, command []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		word string
		to   *[]string
	}{{"ENTRYPOINT", &entry}, {"CMD", &command}} {
		m := regexp.MustCompile(`(?m)^` + x.word + ` (\[.*\])$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("the Dockerfile has no %s", x.word)
		}
		if err := json.Unmarshal(m[1], x.to); err != nil {
			t.Fatal(err)
		}
	}
	return entry, command
}
