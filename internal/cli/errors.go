package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

// runError marks an error of a command that had begun to run. All other errors that cobra returns are usage errors.
type runError struct{ err error }

func (e *runError) Error() string { return e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// usageError marks a usage error that shows only while a command runs, such as a flag value that cannot be parsed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// hintError adds to an error a hint at what the user may do next.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func withHint(err error, format string, args ...any) error {
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// report writes an error for people: one line, and a hint if there is one. It returns the exit code for the error.
func report(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	_, _ = fmt.Fprintf(w, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nerror: "))
	var hint *hintError
	if errors.As(err, &hint) {
		_, _ = fmt.Fprintf(w, "hint: %s\n", hint.hint)
	}
	return exitCode(err)
}

// markRunErrors marks the errors that the commands return, so that they differ from the errors that cobra finds before a command runs. A
// command that ends because its context is canceled has succeeded.
func markRunErrors(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if err == nil || errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
				return nil
			}
			return &runError{err}
		}
	}
	for _, child := range cmd.Commands() {
		markRunErrors(child)
	}
}

// flagError rewrites an error of pflag in the words of this program.
func flagError(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return withHint(fmt.Errorf("unknown flag %q%s", dashes(name), flagconf.Suggest(name, flagNames(cmd), "--")), "%s", help)
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		return withHint(fmt.Errorf("--%s: %w", flag.Name, flagconf.Reason(flag, invalid.GetValue(), err)), "%s", help)
	case errors.As(err, &missing):
		return withHint(fmt.Errorf("--%s: a value is missing", missing.GetFlag().Name), "%s", help)
	}
	return withHint(err, "%s", help)
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}
