package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The exit codes. Scripts depend on them: a code never changes its meaning.
const (
	ExitOK = 0
	// ExitFailure: the command was understood, and failed for a reason without a code of its own.
	ExitFailure = 1
	// ExitUsage: something is wrong in the command line, an environment variable or a file. Nothing was done.
	ExitUsage = 2
	// ExitNotFound: the object of the command does not exist.
	ExitNotFound = 3
	// ExitConflict: the object exists already, somebody else has changed it, or its state does not allow the request.
	ExitConflict = 4
	// ExitUnavailable: no NATS server, frontend or gateway answers in time.
	ExitUnavailable = 5
	// ExitDenied: NATS refuses the connection, or does not permit the request.
	ExitDenied = 6
	// ExitLimit: a limit is reached.
	ExitLimit = 7
	// ExitPartly: an import converted some entries, left the others out, and named all those it left out.
	ExitPartly = 8
)

// exits explains the exit codes for people, in order.
var exits = []string{
	ExitOK:          "done",
	ExitFailure:     "failed: the command was understood, and the error says what went wrong",
	ExitUsage:       "wrong usage, settings or input: nothing was done",
	ExitNotFound:    "what the command is about does not exist",
	ExitConflict:    "it exists already, was changed by somebody else, or is in no state for what was asked",
	ExitUnavailable: "no NATS server, frontend or gateway answers, or not in time: trying again may help",
	ExitDenied:      "NATS does not let you in, or not do this",
	ExitLimit:       "a limit is reached; the error names it",
	ExitPartly:      "an import took what it could; what it left out is named",
}

var exitOfCode = map[schedule.Code]int{
	schedule.CodeInvalidArgument:    ExitUsage,
	schedule.CodeNotFound:           ExitNotFound,
	schedule.CodeAlreadyExists:      ExitConflict,
	schedule.CodeFailedPrecondition: ExitConflict,
	schedule.CodeUnavailable:        ExitUnavailable,
	schedule.CodePermissionDenied:   ExitDenied,
	schedule.CodeResourceExhausted:  ExitLimit,
}

// exitCode returns the exit code for an error. An error that cobra finds before a command runs is a usage error.
func exitCode(err error) int {
	var run *runError
	var usage *usageError
	var left *leftOutError
	switch {
	case err == nil:
		return ExitOK
	case !errors.As(err, &run), errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &left):
		return ExitPartly
	}
	if code, ok := exitOfCode[schedule.CodeOf(err)]; ok {
		return code
	}
	return ExitFailure
}

// exitTable lists the exit codes, one a line.
func exitTable() string {
	var text strings.Builder
	for code, meaning := range exits {
		fmt.Fprintf(&text, "  %d  %s\n", code, meaning)
	}
	return text.String()
}

// exitCodesTopic is what "carillon help exit-codes" shows.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: "The exit codes of all commands:\n\n" + exitTable() + `
Some commands exit with 1 for what they find: "cluster check" if something is left
inconsistent, "cluster health" if a check has failed, or with --strict if there is a
warning, "schedule diff" if there is a difference, "schedule audit" if a due time has
no explanation, "bulk watch" if a schedule could not be dealt with, and --wait if what
it waits for does not succeed. A command that runs until it is stopped exits with 0
when it is.`,
	}
}
