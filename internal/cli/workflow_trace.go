package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// tracePoll is how often --follow looks.
const tracePoll = time.Second

// workflowTrace holds the flags of "carillon workflow trace".
type workflowTrace struct {
	depth       int
	all, follow bool
}

func (a *app) workflowTraceCommand() *cobra.Command {
	var trace workflowTrace
	cmd := a.workflowLookCommand(&cobra.Command{
		Use:   "trace ID [flags]",
		Short: "Show a workflow with its children, and what each of them waits for",
		Long: `Shows a workflow as a tree: its children with theirs, and of each the activities and
timers that it waits for and the activities that have failed. Activities and children
that have completed are only counted. With --follow, it shows the tree again whenever
it has changed, until the workflow has ended, and fails unless it has completed.`,
		Example: `  carillon workflow trace order-17
  carillon workflow trace order-17 --follow --depth 2`,
	}, func(
		ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, output outputFlag,
	) error {
		if trace.depth < 0 {
			return usagef("--depth: %d is out of range: use 0 or more", trace.depth)
		}
		reader := &traceReader{api: api, namespace: a.global.namespace, all: trace.all, ended: map[string]*render.Trace{}}
		show := &tracePrinter{app: a, output: output, redraws: trace.follow && output.forPeople() && isTerminal(a.env.Stdout)}
		return trace.run(ctx, reader, show, execution)
	})
	addFlags(cmd, "Trace", func(flags *pflag.FlagSet) {
		flags.IntVar(&trace.depth, "depth", 100, "look into children down to the level `N`; with 0 they are what their parent knows")
		flags.BoolVar(&trace.all, "all", false, "show children that have completed, too")
		flags.BoolVar(&trace.follow, "follow", false, "show the tree again whenever it has changed, until the workflow has ended")
	})
	return cmd
}

// run shows the tree once, or until the workflow has ended and goes on in no other run.
func (t workflowTrace) run(ctx context.Context, reader *traceReader, show *tracePrinter, execution *common.WorkflowExecution) error {
	for {
		tree, err := reader.read(ctx, execution, t.depth)
		switch {
		case ctx.Err() != nil:
			return errStopped
		case err != nil:
			return err
		}
		if err := show.print(tree); err != nil || !t.follow {
			return err
		}
		switch {
		case tree.Next != "":
			execution = &common.WorkflowExecution{WorkflowId: execution.WorkflowId, RunId: tree.Next}
		case tree.Status == render.WorkflowStatus(enums.WORKFLOW_EXECUTION_STATUS_COMPLETED):
			return nil
		case !tree.Ended.IsZero():
			return fmt.Errorf("workflow %s %s", execution.WorkflowId, tree.Ending)
		}
		if sleep.For(ctx, tracePoll) != nil {
			return errStopped
		}
	}
}

// tracePrinter prints a tree again if it has changed. On a terminal it replaces the one before, also if only the time has passed.
type tracePrinter struct {
	app     *app
	output  outputFlag
	redraws bool
	last    []byte
	lines   int // of the tree that the next one replaces
}

func (p *tracePrinter) print(tree *render.Trace) error {
	now, err := apitext.EncodeJSON(tree)
	if err != nil || !p.redraws && bytes.Equal(now, p.last) {
		return err
	}
	a, again := p.app, p.last != nil
	p.last = now
	return a.print(p.output, tree, func(w io.Writer) error {
		var out strings.Builder
		switch {
		case p.redraws && p.lines > 0:
			fmt.Fprintf(&out, "\x1b[%dA\x1b[J", p.lines)
		case again && !p.redraws:
			out.WriteByte('\n')
		}
		text := render.WorkflowTrace(tree, a.view())
		p.lines = strings.Count(text, "\n")
		out.WriteString(text)
		_, err := io.WriteString(w, out.String())
		return err
	})
}
