package scripttest

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// world is what a stranger is after: what a node, its neighbours and the machine
// have. The test plays the node.
type world struct {
	// Token stands in every file, argument and name that a script must not see,
	// and in the names of what it makes.
	Token string
	// Node and Victim are the ids of the node's process and of another job's.
	Node, Victim int
	// Secrets are files of the node by what they are; Data is its data folder,
	// and Work the folder in it that holds the work folders of all jobs.
	Secrets map[string]string
	Data    string
	Work    string
	// VictimDir is the other job's work folder.
	VictimDir string
	// Socket, Abstract and Port are where the node listens, on a path, on an
	// abstract name and on loopback.
	Socket, Abstract string
	Port             int
	// Segment is the key of a System V shared memory of the node.
	Segment int

	reached atomic.Int64 // connections that came
}

// newWorld makes it, below a folder of the test.
func newWorld(t *testing.T) *world {
	root := t.TempDir()
	w := &world{
		Token: "ramet-escape-" + rand.Text(), Node: os.Getpid(),
		Data: filepath.Join(root, "data"), Work: filepath.Join(root, "data", "work"),
	}
	w.Secrets = map[string]string{
		"the operator's key": filepath.Join(w.Data, "operator.key"),
		"the board":          filepath.Join(w.Data, "board", "000001.log"),
		"the archive":        filepath.Join(root, "archive.db"),
		"the config file":    filepath.Join(root, "etc", "ramet.yaml"),
		"a secret":           filepath.Join(root, "etc", "secrets", "smtp"),
		"the TLS key":        filepath.Join(root, "etc", "tls.key"),
	}
	for _, path := range w.Secrets {
		w.write(t, path)
	}
	if err := os.MkdirAll(w.Work, 0o700); err != nil {
		t.Fatal(err)
	}
	w.listen(t)
	w.share(t)
	return w
}

func (w *world) write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(w.Token), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hidden is what the runtime is told to hide.
func (w *world) hidden() []string {
	hide := []string{w.Data}
	for _, path := range w.Secrets {
		if filepath.Dir(path) != w.Data {
			hide = append(hide, path)
		}
	}
	return hide
}

// listen opens the node's sockets and counts who comes.
func (w *world) listen(t *testing.T) {
	short, err := os.MkdirTemp("", "r-") // the path of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	w.Socket, w.Abstract = filepath.Join(short, "socket"), "@"+w.Token
	for _, at := range []struct{ network, address string }{{"unix", w.Socket}, {"unix", w.Abstract}, {"tcp", "127.0.0.1:0"}} {
		listener, err := net.Listen(at.network, at.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		if address, ok := listener.Addr().(*net.TCPAddr); ok {
			w.Port = address.Port
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				w.reached.Add(1)
				conn.Close()
			}
		}()
	}
}

// share makes a System V shared memory.
func (w *world) share(t *testing.T) {
	w.Segment = int(int32(os.Getpid()<<8) | 0x52)
	id, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(w.Segment), 4096, unix.IPC_CREAT|0o600)
	if errno != 0 {
		t.Fatalf("shmget: %v", errno)
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
}

// left is the key of the memory that a stranger makes.
func (w *world) left() int { return w.Segment + 1 }

// queue is the name of the message queue that a stranger makes.
func (w *world) queue() string { return w.Token }

// outside are folders that no job may leave anything in.
var outside = []string{"/", "/etc", "/usr", "/usr/bin", "/var", "/var/tmp", "/run", "/home", "/root", "/dev", "/dev/shm", "/tmp", "/opt", "/srv"}

// checkLeft looks for what the attempts may have left, and removes it.
func (w *world) checkLeft(t *testing.T, s *escape) {
	for _, dir := range append(outside, w.Data, w.Work, filepath.Dir(w.Data)) {
		path := filepath.Join(dir, w.Token)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		os.Remove(path)
		if s.level == script.Open && dir == "/dev/shm" {
			continue // POSIX semaphores live there, of all processes
		}
		t.Errorf("%s is there", path)
	}
	if s.level == script.Open {
		w.removeIPC()
		return // open has the machine's
	}
	if w.removeIPC() {
		t.Error("shared memory or a message queue is there")
	}
}

// removeIPC removes what a stranger has made, and tells whether there was any.
func (w *world) removeIPC() (found bool) {
	if id, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(w.left()), 0, 0); errno == 0 {
		unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
		found = true
	}
	name, _ := unix.BytePtrFromString(w.queue())
	if _, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0); errno == 0 {
		found = true
	}
	return found
}

// checkSecrets tells whether all files of the node are as they were.
func (w *world) checkSecrets(t *testing.T) {
	t.Helper()
	for what, path := range w.Secrets {
		text, err := os.ReadFile(path)
		info, statErr := os.Lstat(path)
		if err != nil || statErr != nil || string(text) != w.Token || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s is not as it was: %v %v", what, err, statErr)
		}
	}
}
