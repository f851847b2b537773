package cmdline

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Where the kernel shows the arguments and the environment from, as fields of
// /proc/self/stat behind the name: proc(5), arg_start to env_end.
const (
	argStart = 48 - 3
	argEnd   = 49 - 3
	envStart = 50 - 3
	envEnd   = 51 - 3
)

// overwrite changes the memory from which the kernel answers for this process.
// Where that cannot be done, all stays as it is: the node works as well.
func overwrite(args, shown []string, env map[string]string) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer memory.Close()
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envEnd {
		return
	}
	change(memory, fields[argStart], fields[argEnd], func(text []byte) []byte {
		if string(text) != strings.Join(args, "\x00")+"\x00" {
			return text // not where we think: leave it alone
		}
		return []byte(strings.Join(shown, "\x00") + "\x00")
	})
	change(memory, fields[envStart], fields[envEnd], func(text []byte) []byte {
		for name, value := range env {
			at := variable(text, name+"="+value)
			for i := range len(value) {
				if at >= 0 {
					text[at+len(name)+1+i] = ' '
				}
			}
		}
		return text
	})
}

// change writes in place of a part of the memory what f makes of it, of the same length.
func change(memory *os.File, from, to string, f func([]byte) []byte) {
	start, err := strconv.ParseInt(from, 10, 64)
	end, err2 := strconv.ParseInt(to, 10, 64)
	if err != nil || err2 != nil || start <= 0 || end <= start || end-start > 64<<20 {
		return
	}
	text := make([]byte, end-start)
	if _, err := memory.ReadAt(text, start); err != nil {
		return
	}
	was := bytes.Clone(text)
	if now := f(text); len(now) == len(was) && !bytes.Equal(now, was) {
		_, _ = memory.WriteAt(now, start) // the test says that it works
	}
}

// variable finds a variable of an environment block.
func variable(block []byte, pair string) int {
	if bytes.HasPrefix(block, []byte(pair+"\x00")) {
		return 0
	}
	if i := bytes.Index(block, []byte("\x00"+pair+"\x00")); i >= 0 {
		return i + 1
	}
	return -1
}
