package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// optional are the parts that the program can be built without: the module that each
// brings, by its build tag. See cmd/ramet/optional.go.
var optional = map[string][]string{
	"no_etcd":     {"go.etcd.io/", "board/etcdboard"},
	"no_grpc":     {"github.com/bufbuild/protocompile", "effect/grpceffect"},
	"no_nats":     {"github.com/nats-io/", "bus/natsbus", "stream/natsstream", "internal/natslink"},
	"no_otlp":     {"go.opentelemetry.io/otel/exporters", "tracing/otlptracing"},
	"no_postgres": {"github.com/jackc/", "archive/postgresarchive"},
	"no_s3":       {"github.com/minio/minio-go", "artifact/s3store"},
}

// TestASmallProgramHasNoneOfWhatItLeavesOut wants each tag to leave out all of its
// part, by itself and with the others, as `make build-small` has it; and nothing to
// be left out without a tag.
func TestASmallProgramHasNoneOfWhatItLeavesOut(t *testing.T) {
	all := dependencies(t, "")
	for tag, parts := range optional {
		has := dependencies(t, tag)
		for _, part := range parts {
			if !within(all, part) {
				t.Errorf("without tags the program has nothing of %s", part)
			}
			if within(has, part) {
				t.Errorf("with the tag %s the program has %s", tag, part)
			}
		}
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	small := regexp.MustCompile(`(?m)^SMALL := (.*)$`).FindSubmatch(makefile)
	if small == nil {
		t.Fatal("the Makefile has no SMALL, the tags of `make build-small`")
	}
	has := dependencies(t, string(small[1]))
	// Three of the parts bring this one: it goes when all do.
	for _, part := range append([]string{"google.golang.org/grpc"}, flat(optional)...) {
		if within(has, part) {
			t.Errorf("the small program has %s", part)
		}
	}
}

// dependencies are the packages that the program is made of.
func dependencies(t *testing.T, tags string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-tags", tags, "./cmd/ramet")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// within reports whether one of the packages is that, or lies in it.
func within(packages []string, part string) bool {
	for _, p := range packages {
		if strings.HasPrefix(strings.TrimPrefix(p, module), part) {
			return true
		}
	}
	return false
}

func flat(lists map[string][]string) (all []string) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
