package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	defaultEditor = "vi"
	// editorGrace is how long an editor may save its text after this program is told to stop.
	editorGrace = 5 * time.Second
	// problemMark begins the lines at the top of a draft that say why it was opened again.
	problemMark = "# error: "
)

// draft is a schedule as text in a file, while a person edits it.
type draft struct {
	path string
	// text is the text last written to the file. original is the schedule of the first text.
	text     string
	original schedule.Schedule
	// changed says that the file holds something the user has typed.
	changed bool
}

// newDraft creates the file. Only the user can read it.
func newDraft(current *schedule.Description) (*draft, error) {
	body, err := apitext.EncodeYAML(current.Schedule)
	if err != nil {
		return nil, err
	}
	d := &draft{text: fmt.Sprintf("# Schedule %s of namespace %s. Save this to change it; leave it as it is to change nothing.\n%s",
		current.ID, current.Namespace, body)}
	if err := apitext.DecodeYAML(body, &d.original); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "carillon-*.yaml")
	if err != nil {
		return nil, err
	}
	d.path = file.Name()
	if err := file.Close(); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *draft) remove() { _ = os.Remove(d.path) }

// edit opens the draft until it holds a valid schedule. After an error, changed says whether the user could lose text.
func (d *draft) edit(ctx context.Context, env Env) (schedule.Schedule, error) {
	var problem error
	for {
		text, err := d.open(ctx, env)
		if err != nil {
			return schedule.Schedule{}, err
		}
		if problem != nil && withoutProblem(text) == withoutProblem(d.text) {
			return schedule.Schedule{}, problem
		}
		if isBlank(text) {
			d.changed = false
			return d.original, nil
		}
		var next schedule.Schedule
		if next, problem = parseDraft(text); problem == nil {
			d.changed = !reflect.DeepEqual(next, d.original)
			return next, nil
		}
		d.text = withProblem(text, problem)
	}
}

// open writes the text, runs the editor, and returns the text that the editor has left.
func (d *draft) open(ctx context.Context, env Env) (string, error) {
	if err := os.WriteFile(d.path, []byte(d.text), 0o600); err != nil {
		return "", err
	}
	failed := runEditor(ctx, env, d.path)
	text, err := os.ReadFile(d.path)
	if err != nil {
		return "", err
	}
	d.changed = d.changed || string(text) != d.text
	return string(text), failed
}

// runEditor runs the user's editor on a file. If this program is told to stop, runEditor asks the editor to end, since the editor may have
// text to save. The shell sets a trap for Ctrl-C: without it, the shell would end itself after the editor got Ctrl-C, even if the editor
// handled it.
func runEditor(ctx context.Context, env Env, path string) error {
	editor := editorOf(env)
	cmd := exec.CommandContext(ctx, "sh", "-c", "trap : INT; "+editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Stdin, env.Stdout, env.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = editorGrace
	if err := runUninterrupted(cmd); err != nil {
		return withHint(fmt.Errorf("the editor %q failed: %w", editor, err), "$VISUAL or $EDITOR names another one")
	}
	return nil
}

// runUninterrupted runs a program that alone reacts to Ctrl-C. In vi, for example, Ctrl-C ends only an editing command.
func runUninterrupted(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // only after the start: a program inherits ignored signals
	defer signal.Reset(os.Interrupt)
	return cmd.Wait()
}

func editorOf(env Env) string {
	visual, _ := env.LookupEnv("VISUAL")
	editor, _ := env.LookupEnv("EDITOR")
	return cmp.Or(visual, editor, defaultEditor)
}

func parseDraft(text string) (next schedule.Schedule, err error) {
	if err = apitext.DecodeYAML([]byte(text), &next); err == nil {
		err = next.Validate()
	}
	return next, err
}

// withProblem puts an error at the top of a text. It replaces an earlier one.
func withProblem(text string, problem error) string {
	return problemMark + strings.ReplaceAll(problem.Error(), "\n", "\n"+problemMark) + "\n" + withoutProblem(text)
}

// withoutProblem returns a text without the error at the top.
func withoutProblem(text string) string {
	for strings.HasPrefix(text, problemMark) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// isBlank reports whether a text has only comments: then the user has decided against the change.
func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}
