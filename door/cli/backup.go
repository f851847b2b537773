package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file has what keeps a board and moves it.

// RestoreOptions say what to restore, and into what.
type RestoreOptions struct {
	DataDir, BoardURL, ArchiveURL, ConfigFile string
	// From is the backup, and Name what people call it.
	From      io.Reader
	Name      string
	Overwrite bool
	Progress  func(items int64)
}

// CopyOptions say which board to copy, and to where: each by its URL or by the data
// folder that it lies in.
type CopyOptions struct {
	From, To  string
	Overwrite bool
	Progress  func(items int64)
}

// stdStream is the name that stands for standard input or output.
const stdStream = "-"

func (a *app) backupCommand() *cobra.Command {
	var to secrecy
	c := &cobra.Command{
		Use: "backup FILE", Short: "Back up the node that is reached, while it works", Args: cobra.ExactArgs(1),
		Annotations: map[string]string{takesArgs: "yes", oneNode: "yes"},
		Long: `Back up the node that is reached, while it works: its board, wherever that lies, and the archive, the event streams,
the files that jobs left and the keys in its data folder. FILE is there when the backup is whole and on the disk, and not before;
- is standard output. It has the keys of the node, and what is not encrypted of contexts: encrypt it, or keep it where nobody else
reads. It is the operator's.`,
		Example: "  ramet backup /backups/ramet.backup\n  ramet backup --encrypt-to age1… /backups/ramet.backup.age\n  ramet backup - >ramet.backup",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				s, err := a.backUp(c.Context(), n, args[0], &to)
				if err != nil || args[0] == stdStream {
					return err
				}
				return a.print(s, func(t *table) { summaryTable(t, args[0], s) })
			})
		},
	}
	to.sealFlags(c)
	c.AddCommand(a.backupVerify())
	return c
}

func (a *app) backupVerify() *cobra.Command {
	var from secrecy
	c := &cobra.Command{
		Use: "verify FILE", Short: "Read a backup to its end, and check every byte", Args: cobra.ExactArgs(1),
		Long: `Read a backup to its end, and check every byte: one that is cut off, changed, foreign or of a newer program is refused, with
the place. No node is asked.`,
		Example: "  ramet backup verify /backups/ramet.backup",
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.verify(c.Context(), args[0], &from)
			if err != nil {
				return err
			}
			if err := a.print(s, func(t *table) { summaryTable(t, args[0], s) }); err != nil {
				return err
			}
			return lacks(s)
		},
	}
	from.openFlags(c)
	return c
}

func (a *app) restoreCommand() *cobra.Command {
	var from secrecy
	var overwrite bool
	c := &cobra.Command{
		Use: "restore FILE", Short: "Fill an empty board from a backup", Args: cobra.ExactArgs(1),
		Long: `Fill an empty board from a backup: that of --data, or the one that --board names. The archive goes to --archive, event streams and
keys to --data, files that jobs left to where --config says, or beside an embedded board to --data. No node may use the board. A new epoch
begins: what came after the backup is lost, numbers go on far beyond those that were given out, and jobs that ran are taken again under a new attempt.
A restore that was interrupted is begun again by the same command; until then no node starts there.`,
		Example: "  ramet restore /backups/ramet.backup --data /var/lib/ramet\n" +
			"  ramet restore /backups/ramet.backup --data /var/lib/ramet --board redis://localhost:6379 --archive sqlite:archive.db",
		RunE: func(c *cobra.Command, args []string) error {
			if a.hooks.Restore == nil {
				return domain.Invalidf("this program restores nothing")
			}
			if args[0] != stdStream { // before anything is written anywhere
				if _, err := a.verify(c.Context(), args[0], &from); err != nil {
					return err
				}
			}
			in, err := a.openBackup(args[0], &from)
			if err != nil {
				return err
			}
			defer in.Close()
			p := a.newProgress("restored")
			s, err := a.hooks.Restore(c.Context(), RestoreOptions{DataDir: a.data, BoardURL: a.board, ArchiveURL: a.archive, ConfigFile: a.config,
				From: in, Name: args[0], Overwrite: overwrite, Progress: p.items})
			p.done()
			if err != nil {
				return err
			}
			return a.print(s, func(t *table) { summaryTable(t, args[0], s) })
		},
	}
	from.openFlags(c)
	c.Flags().BoolVar(&overwrite, "overwrite", false, "lose what the board and the data folder have")
	return c
}

func (a *app) boardCommand() *cobra.Command {
	var overwrite bool
	copied := &cobra.Command{
		Use: "copy FROM TO", Short: "Copy a board to an empty one, and compare them", Args: cobra.ExactArgs(2),
		Long: `Copy a board to an empty one, of whatever kind, and compare them. FROM and TO are URLs of boards (redis://, etcd://, …) or data folders.
No node may use either. The archive, event streams and keys stay where they are. A copy that was interrupted goes on by the same command.`,
		Example: "  ramet board copy /var/lib/ramet redis://localhost:6379",
		RunE: func(c *cobra.Command, args []string) error {
			if a.hooks.CopyBoard == nil {
				return domain.Invalidf("this program copies no boards")
			}
			p := a.newProgress("copied")
			s, err := a.hooks.CopyBoard(c.Context(), CopyOptions{From: args[0], To: args[1], Overwrite: overwrite, Progress: p.items})
			p.done()
			if err != nil {
				return err
			}
			return a.print(s, func(t *table) { boardTable(t, s) })
		},
	}
	copied.Flags().BoolVar(&overwrite, "overwrite", false, "lose what TO has")
	return noun("board", "Move a board", copied)
}

// lacks refuses a backup for files that jobs left and it has not as they were.
func lacks(s backup.Summary) error {
	var wrong []string
	if len(s.Damaged) > 0 {
		wrong = append(wrong, "has damaged artifacts: "+strings.Join(s.Damaged, ", "))
	}
	if s.SpoiltRecords > 0 {
		wrong = append(wrong, fmt.Sprintf("has %d damaged records of the archive: %s", s.SpoiltRecords, strings.Join(s.Spoilt, ", ")))
	}
	if len(s.Missing) > 0 {
		wrong = append(wrong, "lacks files that the store had lost: "+strings.Join(s.Missing, ", "))
	}
	if len(wrong) == 0 {
		return nil
	}
	return domain.Invalidf("the backup %s; all else in it is whole, and can be restored", strings.Join(wrong, ", and "))
}

func summaryTable(t *table, name string, s backup.Summary) {
	t.field("backup", name)
	t.field("of", fmt.Sprintf("node %s (%s), board %s", s.Head.Node, s.Head.Program, s.Head.Kind))
	t.field("at", clock(s.Head.AtMs))
	if !s.Head.Whole {
		t.field("consistency", "the board was read while it went on: what changed meanwhile may be there in part")
	}
	boardTable(t, s)
	if s.Head.Archive {
		t.field("archive", fmt.Sprintf("%d records", s.Archived))
	}
	if s.Head.Streams {
		t.field("event streams", s.Streams)
	}
	switch {
	case s.Head.ArtifactsAt != "":
		t.field("artifacts", "not in the backup: they are in "+s.Head.ArtifactsAt)
	case s.Artifacts > 0:
		t.field("artifacts", fmt.Sprintf("%d, %s", s.Artifacts, size(uint64(s.ArtifactBytes))))
	}
	for _, name := range s.Damaged {
		t.field("damaged", name+" was so in the store already: no restore has it")
	}
	for _, name := range s.Spoilt {
		t.field("damaged record", name+" was so in the archive already, and is so after a restore")
	}
	for _, name := range s.Missing {
		t.field("missing", name+" was not in the store any more: no restore has it")
	}
	if s.Sealed > 0 {
		t.field("sealed", fmt.Sprintf("%d secrets of contexts and webhooks open with secrets.key of that node only, which is in no backup: keep a copy, and put "+
			"it into the data folder of the node that goes on, or set them again", s.Sealed))
	}
	t.field("files", s.Files)
	t.field("bytes", s.Bytes)
}

func boardTable(t *table, s backup.Summary) {
	t.field("spaces", s.Spaces)
	t.field("records", s.Records)
	t.field("lists and sets", s.Lists+s.Sets)
	t.field("alarms", s.Alarms)
	t.field("running", s.Leases)
	if s.Skipped > 0 {
		t.field("passed over", fmt.Sprintf("%d keys that are none of a board's, or could not be read", s.Skipped))
	}
}

// clearParts removes what backups that were killed have left of their file, and says so. Who writes one holds it.
func clearParts(prefix string, told io.Writer) {
	list, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return // the backup will say what is wrong
	}
	for _, f := range list {
		if !strings.HasPrefix(f.Name(), filepath.Base(prefix)) || !f.Type().IsRegular() {
			continue
		}
		if removeFree(filepath.Join(filepath.Dir(prefix), f.Name())) {
			fmt.Fprintf(told, "removed %s, which a backup that was broken off has left\n", f.Name())
		}
	}
}

// makePart makes the file that a backup is written to, and holds it as long as it is open.
func makePart(prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(prefix), filepath.Base(prefix)+"*") // 0600
		if err != nil {
			return nil, fileError(err)
		}
		if hold(f) && stillAt(f, f.Name()) {
			return f, nil
		}
		_ = f.Close() // another backup took it for one that was left: that removes it
	}
}

// stillAt reports whether a file is there by its name.
func stillAt(f *os.File, name string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Stat(name)
	return err == nil && os.SameFile(is, at)
}

// backUp writes a backup to a file, or to standard output.
func (a *app) backUp(ctx context.Context, n *client.Client, name string, to *secrecy) (s backup.Summary, err error) {
	if name == stdStream {
		if _, shown := terminal(a.std.Out); shown {
			return s, domain.Invalidf("a backup is not for a terminal to show: name a file, or redirect the output")
		}
		return a.receive(ctx, n, bare(a.std.Out), to)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return s, domain.Invalidf("%s is a folder: name the file that the backup is to be written to", name)
	}
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".part-")
	clearParts(part, a.std.Err)
	f, err := makePart(part)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if s, err = a.receive(ctx, n, f, to); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = renameHeld(f, name)
	} else {
		_ = f.Close() // the first error says more
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		err = domain.Unavailablef("write the backup %s: %v; what was written is removed", name, failed.Err)
	}
	return s, err
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// receive has the node send its backup, checks it as it comes, and encrypts it.
func (a *app) receive(ctx context.Context, n *client.Client, out io.Writer, to *secrecy) (s backup.Summary, err error) {
	sealed, err := to.seal(out)
	if err != nil {
		return s, err
	}
	p := a.newProgress("written")
	defer p.done()
	checked, check := io.Pipe()
	type result struct {
		s   backup.Summary
		err error
	}
	done := make(chan result, 1)
	go func() {
		s, err := backup.Verify(ctx, checked, p.items)
		_ = checked.CloseWithError(err)
		done <- result{s, err}
	}()
	err = n.BackupNode(ctx, io.MultiWriter(sealed, check))
	_ = check.CloseWithError(err)
	r := <-done
	if err == nil {
		err = r.err
	}
	if closed := sealed.Close(); err == nil {
		err = closed
	}
	return r.s, err
}

func (a *app) verify(ctx context.Context, name string, from *secrecy) (backup.Summary, error) {
	in, err := a.openBackup(name, from)
	if err != nil {
		return backup.Summary{}, err
	}
	defer in.Close()
	p := a.newProgress("checked")
	defer p.done()
	return backup.Verify(ctx, in, p.items)
}

// openBackup opens a backup for reading, decrypted.
func (a *app) openBackup(name string, from *secrecy) (io.ReadCloser, error) {
	f := io.NopCloser(a.std.In)
	if name != stdStream {
		var err error
		if f, err = openFile(name); err != nil {
			return nil, err
		}
	}
	plain, err := from.open(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, f}, nil
}

// openFile opens a backup, which is a file or a pipe.
func openFile(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileError(err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, domain.Invalidf("%s is a folder: name the file that `ramet backup` wrote", name)
	}
	return f, nil
}

// secrecy is how a backup is encrypted: by age, so that anything that speaks it can
// open one.
type secrecy struct {
	to         []string // public keys
	identity   string   // file of private keys
	passphrase string   // file, or "-" for the terminal
	given      string   // the passphrase once it was asked for
}

const passphraseUsage = "`file` with a passphrase in its first line, or - to be asked for it"

func (s *secrecy) sealFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.to, "encrypt-to", nil, "encrypt for this public `key` of age (age1…); several may read it then")
	c.Flags().StringVar(&s.passphrase, "passphrase", "", "encrypt with a passphrase: "+passphraseUsage)
}

func (s *secrecy) openFlags(c *cobra.Command) {
	c.Flags().StringVar(&s.identity, "identity", "", "`file` with the private key of age that the backup is encrypted for")
	c.Flags().StringVar(&s.passphrase, "passphrase", "", passphraseUsage)
}

// nothing closes nothing.
type nothing struct{ io.Writer }

func (nothing) Close() error { return nil }

// seal encrypts what is written to the result, as the flags say.
func (s *secrecy) seal(out io.Writer) (io.WriteCloser, error) {
	var to []age.Recipient
	for _, text := range s.to {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, domain.Invalidf("--encrypt-to %q is no public key of age: want age1…, as age-keygen prints it", domain.PlainText(text, 80))
		}
		to = append(to, r)
	}
	switch {
	case s.passphrase != "" && len(to) > 0:
		return nil, domain.Invalidf("--passphrase and --encrypt-to: give one of them")
	case s.passphrase != "":
		text, err := s.ask()
		if err != nil {
			return nil, err
		}
		r, err := age.NewScryptRecipient(text)
		if err != nil {
			return nil, domain.Invalidf("the passphrase: %v", err)
		}
		to = append(to, r)
	case len(to) == 0:
		return nothing{out}, nil
	}
	w, err := age.Encrypt(out, to...)
	if err != nil {
		return nil, domain.Unavailablef("encrypt the backup: %v", err)
	}
	return w, nil
}

// open decrypts, where a key was given.
func (s *secrecy) open(in io.Reader) (io.Reader, error) {
	var with []age.Identity
	switch {
	case s.identity != "":
		f, err := os.Open(s.identity)
		if err != nil {
			return nil, fileError(err)
		}
		defer f.Close()
		if with, err = age.ParseIdentities(f); err != nil {
			return nil, domain.Invalidf("--identity %s: no private key of age: want a line AGE-SECRET-KEY-1…, as age-keygen writes it", s.identity)
		}
	case s.passphrase != "":
		text, err := s.ask()
		if err != nil {
			return nil, err
		}
		id, err := age.NewScryptIdentity(text)
		if err != nil {
			return nil, domain.Invalidf("the passphrase: %v", err)
		}
		with = append(with, id)
	default:
		return in, nil
	}
	read := bufio.NewReader(in)
	begin, _ := read.Peek(len(armor.Header))
	var sealed io.Reader = read
	switch text := string(begin); {
	case strings.HasPrefix(text, backup.Magic):
		return nil, domain.Invalidf("the backup is not encrypted: leave out --passphrase and --identity")
	case text == armor.Header:
		sealed = armor.NewReader(read)
	case !strings.HasPrefix(text, "age-encryption.org/"):
		return nil, domain.Invalidf("this is no backup of Ramet: it begins neither as one nor as a file of age")
	}
	plain, err := age.Decrypt(sealed, with...)
	if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
		return nil, s.wrongKey(none.StanzaTypes)
	}
	if err != nil {
		return nil, domain.Invalidf("the backup is damaged where age says how it is encrypted: %v", err)
	}
	return plain, nil
}

// wrongKey says why what was given does not open a backup that is encrypted in some ways.
func (s *secrecy) wrongKey(ways []string) error {
	switch byPassphrase := slices.Contains(ways, "scrypt"); {
	case byPassphrase && s.passphrase == "":
		return domain.Invalidf("the backup is encrypted with a passphrase, not for a key: give it with --passphrase FILE")
	case byPassphrase:
		return domain.Invalidf("the passphrase is not that of the backup")
	case s.identity == "":
		return domain.Invalidf("the backup is encrypted for a key, not with a passphrase: give the private one with --identity FILE")
	}
	return domain.Invalidf("--identity %s: the backup is encrypted for another key", s.identity)
}

// ask reads the passphrase, once.
func (s *secrecy) ask() (string, error) {
	if s.given != "" {
		return s.given, nil
	}
	if s.passphrase != stdStream {
		text, err := os.ReadFile(s.passphrase)
		if err != nil {
			return "", fileError(err)
		}
		s.given, _, _ = strings.Cut(string(text), "\n")
		s.given = strings.TrimSuffix(s.given, "\r")
	} else {
		fmt.Fprint(os.Stderr, "Passphrase: ")
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(os.Stderr)
		if err != nil {
			return "", domain.Invalidf("--passphrase -: there is no terminal to ask at; give a file")
		}
		s.given = string(text)
	}
	if s.given == "" {
		return "", domain.Invalidf("the passphrase is empty")
	}
	return s.given, nil
}

// progress shows on a terminal how far something is.
type progress struct {
	a     *app
	what  string
	count atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

func (a *app) newProgress(what string) *progress {
	p := &progress{a: a, what: what, stop: make(chan struct{}), ended: make(chan struct{})}
	to := bare(a.std.Err)
	if _, shown := terminal(to); !shown {
		close(p.ended)
		return p
	}
	go func() {
		defer close(p.ended)
		began := time.Now()
		for every := time.NewTicker(drawEvery); ; {
			select {
			case <-p.stop:
				every.Stop()
				fmt.Fprint(to, "\r\x1b[K")
				return
			case <-every.C:
				n := p.count.Load()
				fmt.Fprintf(to, "\r%d items %s, %.0f a second\x1b[K", n, what, float64(n)/time.Since(began).Seconds())
			}
		}
	}()
	return p
}

func (p *progress) items(n int64) { p.count.Store(n) }

func (p *progress) done() {
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	<-p.ended
}
