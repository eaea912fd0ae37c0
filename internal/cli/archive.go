package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// archivePatience bounds each request about an archive: the answer may need thousands of objects.
const archivePatience = time.Minute

// errDamaged says that an archive is not what was written.
var errDamaged = errors.New("some executions are damaged")

func (a *app) archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Find, read and verify archived workflows",
		Long: `Finds, reads and verifies the workflows that were archived. A namespace has an archive
if its setting --archive names a bucket. The processes of the role archival read it, so
this command needs no access to the bucket.`,
		Example: `  carillon namespace update default --archive jetstream://
  carillon archive list --day 2026-11-28 --type Order
  carillon archive get order-17 -o json > history.json`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.archiveListCommand(), a.archiveGetCommand(), a.archiveVerifyCommand())
	return cmd
}

// archiveFilter are the flags that say which workflows are meant.
type archiveFilter struct{ day, workflowType, id, query string }

func (f *archiveFilter) define(cmd *cobra.Command) {
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.day, "day", "", "those that ended on `DAY` in UTC, such as 2026-11-28")
		flags.StringVar(&f.workflowType, "type", "", "those of the workflow type `NAME`")
		flags.StringVar(&f.id, "id", "", "the runs of the workflow `ID`")
		flags.StringVar(&f.query, "query", "", "those that match `QUERY`, in Temporal's language: docs/search.md has it")
	})
}

// request makes a query of the flags.
func (f *archiveFilter) request(namespace string) (*workflowservice.ListArchivedWorkflowExecutionsRequest, error) {
	var all []string
	if f.day != "" {
		day, err := archive.ParseDay(f.day)
		if err != nil {
			return nil, usagef("--day: %q is not a day such as 2026-11-28", f.day)
		}
		all = append(all, fmt.Sprintf("CloseTime >= '%s' AND CloseTime < '%s'", day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339)))
	}
	for _, equal := range []struct{ field, value string }{{"WorkflowType", f.workflowType}, {"WorkflowId", f.id}} {
		if equal.value != "" {
			all = append(all, equal.field+" = '"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(equal.value)+"'")
		}
	}
	if f.query != "" {
		all = append(all, "("+f.query+")")
	}
	return &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: namespace, Query: strings.Join(all, " AND ")}, nil
}

// askArchive sends requests about the archive of the namespace. ask sends one of a verb.
func (a *app) askArchive(ctx context.Context, do func(ask func(verb string, request, response proto.Message) error) error) error {
	conn, _, err := a.connectOwner()
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(func(verb string, request, response proto.Message) error {
		ctx, cancel := context.WithTimeout(ctx, archivePatience)
		defer cancel()
		return explainArchive(call.Ask(ctx, conn, a.global.names.Archive(a.global.namespace, verb), request, response))
	})
}

// explainArchive turns an error of the role archival into one of this program.
func explainArchive(err error) error {
	if err == nil {
		return nil
	}
	told := serviceerror.ToStatus(err)
	code, known := codeOfStatus[told.Code()]
	if !known {
		return fmt.Errorf("%s (%s)", told.Message(), told.Code())
	}
	err = schedule.Errorf(code, "%s", told.Message())
	switch code {
	case schedule.CodeUnavailable:
		if strings.Contains(told.Message(), "nobody answers") {
			return withHint(err, "start carillon server or carillon archival")
		}
		return withHint(err, "carillon cluster health says more")
	case schedule.CodeNotFound:
		return withHint(err, "carillon archive list shows what is archived; --namespace chooses a namespace")
	}
	return err
}

func (a *app) archiveListCommand() *cobra.Command {
	var filter archiveFilter
	var output outputFlag
	var kind archiveKind
	limit := defaultWorkflows
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List archived workflows or events of schedules, the last day first",
		Long: `Lists archived workflows, the last day first; or, with --of schedule, of which
schedules there are archived events. Then --type is a kind of events, such as completed.`,
		Example: `  carillon archive list --day 2026-11-28 --type Order
  carillon archive list --of schedule --day 2026-11-28
  carillon archive list --query "ExecutionStatus = 'Failed'" --limit 100`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxWorkflows {
				return usagef("--limit: %d is out of range: use 1 to %d", limit, maxWorkflows)
			}
			schedules, err := kind.isSchedule(map[string]string{"query": filter.query})
			switch {
			case err != nil:
				return err
			case schedules:
				return a.listEvents(cmd.Context(), output, &filter, limit)
			}
			all, err := a.listArchived(cmd.Context(), &filter, limit)
			if err != nil {
				return err
			}
			id := func(one *answer[*workflow.WorkflowExecutionInfo]) string {
				return one.of.GetExecution().GetWorkflowId()
			}
			return printList(a, output, answers(all), id, func(w io.Writer) error { return render.Workflows(w, all, a.view()) })
		},
	}
	filter.define(cmd)
	kind.define(cmd)
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) { flags.IntVar(&limit, "limit", defaultWorkflows, "the first `N` only") })
	output.defineList(cmd)
	return cmd
}

// listArchived reads pages until it has as many workflows as wanted.
func (a *app) listArchived(ctx context.Context, filter *archiveFilter, limit int) (all []*workflow.WorkflowExecutionInfo, err error) {
	request, err := filter.request(a.global.namespace)
	if err != nil {
		return nil, err
	}
	err = a.askArchive(ctx, func(ask func(string, proto.Message, proto.Message) error) error {
		for len(all) < limit {
			request.PageSize = int32(min(limit-len(all), workflowPage))
			page := &workflowservice.ListArchivedWorkflowExecutionsResponse{}
			if err := ask(subjects.VerbListArchived, request, page); err != nil {
				return err
			}
			all = append(all, page.Executions...)
			if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
				break
			}
		}
		return nil
	})
	return all, err
}

func (a *app) archiveGetCommand() *cobra.Command {
	var output outputFlag
	var run runFlag
	var kind archiveKind
	var day string
	cmd := &cobra.Command{
		Use:   "get ID [flags]",
		Short: "Show the history of an archived workflow, or of a schedule",
		Long: `Shows the history of an archived workflow: of the run that ended last, unless
--run-id names one. With -o json it is Temporal's JSON of a history, which its SDKs
replay. With --of schedule, it shows the archived events of a schedule.`,
		Example: `  carillon archive get order-17
  carillon archive get nightly --of schedule --day 2026-11-28
  carillon archive get order-17 -o json > history.json`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			schedules, err := kind.isSchedule(map[string]string{"run-id": run.id})
			switch {
			case err != nil:
				return err
			case schedules:
				return a.getEvents(cmd.Context(), output, args[0], day)
			case day != "":
				return usagef("--day is for --of schedule only")
			}
			events, err := a.archivedHistory(cmd.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
				Namespace: a.global.namespace, Execution: run.of(args[0]),
			})
			if err != nil {
				return err
			}
			shown := archivedJSON{&history.History{Events: events}}
			return a.print(output, shown, func(w io.Writer) error { return render.History(w, eventRows(events), a.view()) })
		},
	}
	run.define(cmd)
	kind.define(cmd)
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&day, "day", "", "the events of a schedule on `DAY` in UTC, such as 2026-11-28")
	})
	output.define(cmd)
	return cmd
}

// archivedJSON is a history whose JSON is that of its archive.
type archivedJSON struct{ of *history.History }

// MarshalJSON encodes the history.
func (h archivedJSON) MarshalJSON() ([]byte, error) { return archive.MarshalHistory(h.of) }

// archivedHistory reads all pages of an archived history.
func (a *app) archivedHistory(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest,
) (events []*history.HistoryEvent, err error) {
	err = a.askArchive(ctx, func(ask func(string, proto.Message, proto.Message) error) error {
		for {
			page := &workflowservice.GetWorkflowExecutionHistoryResponse{}
			if err := ask(subjects.VerbArchivedHistory, request, page); err != nil {
				return err
			}
			events = append(events, page.GetHistory().GetEvents()...)
			if request.NextPageToken = page.NextPageToken; len(page.NextPageToken) == 0 {
				return nil
			}
		}
	})
	return events, err
}

func (a *app) archiveVerifyCommand() *cobra.Command {
	var filter archiveFilter
	var output outputFlag
	var kind archiveKind
	var from string
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Read archived workflows or events of schedules, and compare them with their digests",
		Long: `Reads the history of each archived workflow, and compares it with the digest that was
stored when it was written; or, with --of schedule, the events of schedules. The exit
code is 1 if one is damaged or missing.

It goes through the archive in parts of some seconds. If one of them fails, --continue
goes on behind the last one that did not.`,
		Example: `  carillon archive verify --day 2026-11-28
  carillon archive verify -o json | jq '.damaged'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			verify := a.verifyArchived
			schedules, err := kind.isSchedule(map[string]string{"query": filter.query, "type": filter.workflowType})
			switch {
			case err != nil:
				return err
			case schedules:
				verify = a.verifyEvents
			}
			found, err := verify(cmd.Context(), &filter, from)
			return a.printVerified(output, found, err)
		},
	}
	filter.define(cmd)
	kind.define(cmd)
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&from, "continue", "", "go on with the `PART` that an earlier command could not verify")
	})
	output.define(cmd)
	return cmd
}

// printVerified prints what a verification has found before it failed, if it did.
func (a *app) printVerified(output outputFlag, found *archive.Verified, failed error) error {
	if failed != nil && (found == nil || len(found.Next) == 0) {
		return failed
	}
	if err := a.print(output, found, func(w io.Writer) error { return writeVerified(w, found) }); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return withHint(failed, "go on with --continue %s", base64.RawURLEncoding.EncodeToString(found.Next))
	case len(found.Damaged) > 0:
		return errDamaged
	}
	return nil
}

func writeVerified(w io.Writer, found *archive.Verified) error {
	for _, damaged := range found.Damaged {
		what := strings.TrimSpace(damaged.ScheduleID + " " + damaged.WorkflowID + " " + damaged.RunID)
		if _, err := fmt.Fprintf(w, "damaged: %s: %s\n", what, damaged.Reason); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d verified, %d damaged\n", found.Executions+found.Events, len(found.Damaged))
	return err
}

// verifyArchived verifies page after page, from one on. With an error, it returns what it has found before, and where to go on.
func (a *app) verifyArchived(ctx context.Context, filter *archiveFilter, from string) (found *archive.Verified, err error) {
	request, err := filter.request(a.global.namespace)
	if err != nil {
		return nil, err
	}
	return a.verifyAll(ctx, subjects.VerbVerifyArchived, from, func(next []byte) (proto.Message, error) {
		request.NextPageToken = next
		return request, nil
	})
}

// verifyAll verifies page after page, from one on. request makes that for the page of a token.
func (a *app) verifyAll(
	ctx context.Context, verb, from string, request func(next []byte) (proto.Message, error),
) (found *archive.Verified, err error) {
	found = &archive.Verified{}
	if found.Next, err = base64.RawURLEncoding.DecodeString(from); err != nil {
		return nil, usagef("--continue: %q is not what an earlier command has named", from)
	}
	err = a.askArchive(ctx, func(ask func(string, proto.Message, proto.Message) error) error {
		for {
			var page archive.Verified
			var answer wrapperspb.BytesValue
			question, err := request(found.Next)
			if err == nil {
				err = ask(verb, question, &answer)
			}
			if err == nil {
				err = json.Unmarshal(answer.Value, &page)
			}
			if err != nil {
				return err
			}
			found.Executions, found.Events = found.Executions+page.Executions, found.Events+page.Events
			found.Damaged = append(found.Damaged, page.Damaged...)
			if found.Next = page.Next; len(page.Next) == 0 {
				return nil
			}
		}
	})
	return found, err
}
