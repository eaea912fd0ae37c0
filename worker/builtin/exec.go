package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

const (
	// maxOutput is how much is kept of each output of a program: the beginning of standard output, the end of standard error.
	maxOutput = 128 << 10
	maxError  = 16 << 10
	// stopGrace is how long a program may take to stop once it was asked.
	stopGrace = time.Second
)

// The failure types of the exec action. Either the program ended with a status other than zero, which is retryable. Or it could not be run,
// which is retryable only if the cause is likely to pass by itself.
const (
	TypeExitStatus = "exit_status"
	TypeExec       = "exec"
)

// execInput is the input of the exec action.
type execInput struct {
	// Command is a name of the worker's list.
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Stdin is the standard input. A text is written as it is, anything else as JSON.
	Stdin json.RawMessage `json:"stdin"`
	// Timeout ends the program. By default, only the limits of the run do.
	Timeout schedule.Duration `json:"timeout"`
}

// ExecResult is the result of the exec action.
type ExecResult struct {
	// Stdout is the beginning of standard output: as JSON if it is JSON, else as a text.
	Stdout any `json:"stdout,omitempty"`
	// Stderr is the end of standard error.
	Stderr string `json:"stderr,omitempty"`
	// Truncated says that one of the outputs was longer.
	Truncated bool `json:"truncated,omitempty"`
}

// execAction runs programs.
type execAction struct {
	commands map[string]string
}

// ParseCommands reads the programs that the exec action may run, in the form of the flags: PATH or NAME=PATH. The default name is the last
// element of the path. The path must be absolute and name an executable file.
func ParseCommands(texts []string) (map[string]string, error) {
	commands := map[string]string{}
	for _, text := range texts {
		name, at, named := strings.Cut(text, "=")
		if !named {
			name, at = filepath.Base(text), text
		}
		info, err := os.Stat(at)
		switch {
		case name == "":
			return nil, schedule.Invalid("exec", "%q must be PATH or NAME=PATH", text)
		case !filepath.IsAbs(at):
			return nil, schedule.Invalid("exec", "%q must be an absolute path", at)
		case err != nil:
			return nil, schedule.Invalid("exec", "%v", err)
		case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			return nil, schedule.Invalid("exec", "%q is not a program", at)
		case commands[name] != "":
			return nil, schedule.Invalid("exec", "there are two programs with the name %q", name)
		}
		commands[name] = at
	}
	return commands, nil
}

func (e *execAction) handle(ctx context.Context, run *worker.Run) (any, error) {
	var in execInput
	if err := decode(run, &in); err != nil {
		return nil, err
	}
	if err := checkTimeout(in.Timeout); err != nil {
		return nil, err
	}
	if limit := in.Timeout.Std(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the program has run for %v", limit))
		defer cancel()
	}
	stdout, stderr := &output{limit: maxOutput, begin: true}, &output{limit: maxError}
	cmd, err := e.command(ctx, run, &in)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = runGroup(cmd)
	result := ExecResult{
		Stdout: asResult(bytes.TrimSpace(stdout.data)), Stderr: asText(stderr.data),
		Truncated: stdout.truncated || stderr.truncated,
	}
	if err != nil {
		return nil, execError(ctx, in.Command, err, &result)
	}
	return result, nil
}

// command makes the command that the input asks for. Its environment names the run. Of the worker's own environment, it has only the
// variables that programs need to find their way: schedules must not read the worker's secrets.
func (e *execAction) command(ctx context.Context, run *worker.Run, in *execInput) (*exec.Cmd, error) {
	path, ok := e.commands[in.Command]
	if !ok {
		return nil, worker.InvalidInput("command: %q is not in the list of this worker, which has %s",
			in.Command, strings.Join(slices.Sorted(maps.Keys(e.commands)), ", "))
	}
	expand := newExpander(run)
	args := make([]string, len(in.Args))
	for i, arg := range in.Args {
		args[i] = expand.text("args", arg, asIs)
	}
	stdin, _ := expand.payload("stdin", in.Stdin)
	if expand.err != nil {
		return nil, expand.err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	for _, variable := range []struct{ name, placeholder string }{
		{"NAMESPACE", "namespace"}, {"SCHEDULE_ID", "scheduleId"}, {"WORKFLOW_ID", "workflowId"}, {"RUN_ID", "runId"},
		{"REQUEST_ID", "requestId"}, {"NOMINAL_TIME", "nominalTime"}, {"ATTEMPT", "attempt"},
	} {
		cmd.Env = append(cmd.Env, "CARILLON_"+variable.name+"="+expand.values[variable.placeholder])
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = stopGrace
	return cmd, nil
}

// execError returns why a program did not succeed.
func execError(ctx context.Context, command string, err error, result *ExecResult) error {
	if ctx.Err() != nil {
		return &worker.Error{Type: TypeExitStatus, Message: command + " was stopped", Err: context.Cause(ctx), Details: result}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &worker.Error{
			Type: TypeExitStatus, Message: cmp.Or(lastLine(result.Stderr), command+" has failed"), Err: exit,
			Details: map[string]any{"exitCode": exit.ExitCode(), "stdout": result.Stdout, "stderr": result.Stderr},
		}
	}
	return &worker.Error{Type: TypeExec, Message: command + " cannot be run", Err: err, NonRetryable: !passes(err)}
}

// passes reports whether the reason why a program cannot be run is likely to pass soon: the program is being replaced, or the machine is
// short of a resource.
func passes(err error) bool {
	return slices.ContainsFunc([]error{syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE},
		func(reason error) bool { return errors.Is(err, reason) })
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// output keeps the beginning or the end of what is written to it.
type output struct {
	limit     int
	begin     bool
	data      []byte
	truncated bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.begin {
		kept := p[:min(len(p), o.limit-len(o.data))]
		o.data, o.truncated = append(o.data, kept...), o.truncated || len(kept) < len(p)
		return len(p), nil
	}
	o.data = append(o.data, p...)
	if over := len(o.data) - o.limit; over > 0 {
		o.data, o.truncated = append(o.data[:0], o.data[over:]...), true
	}
	return len(p), nil
}
