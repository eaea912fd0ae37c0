package pages

//lint:file-ignore SA1019 Temporal has marked it as deprecated, and has nothing else for it

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// ends returns the first event of an execution and, unless it is open, the last one. What is not there any more is nil.
func ends(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, isOpen bool) (started, ended *history.HistoryEvent, err error) {
	started, err = firstEvent(ctx, asks, of, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if err == nil && !isOpen {
		ended, err = firstEvent(ctx, asks, of, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	}
	return started, ended, err
}

func firstEvent(
	ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, filter enums.HistoryEventFilterType,
) (*history.HistoryEvent, error) {
	page, err := asks.Workflows.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: asks.Namespace(), Execution: of, MaximumPageSize: 1, HistoryEventFilterType: filter,
	})
	if err != nil || len(page.GetHistory().GetEvents()) == 0 {
		return nil, err
	}
	return page.GetHistory().GetEvents()[0], nil
}

func inputOf(started *history.HistoryEvent) string {
	return readable.Payloads(started.GetWorkflowExecutionStartedEventAttributes().GetInput())
}

// resultOf returns what an execution has returned, as text; empty if it did not complete.
func resultOf(ended *history.HistoryEvent) string {
	return readable.Payloads(ended.GetWorkflowExecutionCompletedEventAttributes().GetResult())
}

// failureText says why an execution did not complete; empty if it did, or goes on.
func failureText(ended *history.HistoryEvent) string {
	switch {
	case ended.GetWorkflowExecutionFailedEventAttributes() != nil:
		return readable.Failure(ended.GetWorkflowExecutionFailedEventAttributes().GetFailure())
	case ended.GetWorkflowExecutionContinuedAsNewEventAttributes().GetFailure() != nil:
		return readable.Failure(ended.GetWorkflowExecutionContinuedAsNewEventAttributes().GetFailure())
	case ended.GetWorkflowExecutionTerminatedEventAttributes() != nil:
		of := ended.GetWorkflowExecutionTerminatedEventAttributes()
		return terminatedText(of.GetReason(), of.GetIdentity(), readable.Payloads(of.GetDetails()))
	case ended.GetWorkflowExecutionCanceledEventAttributes() != nil:
		return strings.TrimSpace("canceled\n" + readable.Payloads(ended.GetWorkflowExecutionCanceledEventAttributes().GetDetails()))
	case ended.GetWorkflowExecutionTimedOutEventAttributes() != nil:
		return readable.Failure(&failure.Failure{Message: "the time of the run was over"})
	}
	return ""
}

func terminatedText(reason, identity, details string) string {
	text := "terminated"
	if identity != "" {
		text += " by " + identity
	}
	if reason != "" {
		text += ": " + reason
	}
	return strings.TrimSpace(text + "\n" + details)
}

// addWhole adds the addresses of texts without a page around them, for the executions in a part of the console.
func (p *Pages) addWhole(part string) {
	one := Base + "{namespace}/" + part + "/{workflow}/{run}/"
	p.plain("GET "+one+"input", func(ctx context.Context, r *http.Request, asks *speaker.Speaker, w io.Writer) error {
		event, err := firstEvent(ctx, asks, executionOf(r), enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		return written(w, inputOf(event), err)
	})
	p.plain("GET "+one+"result", func(ctx context.Context, r *http.Request, asks *speaker.Speaker, w io.Writer) error {
		d, err := describe(ctx, asks, executionOf(r))
		if part == ofArchive { // history may not have it any longer, and it has ended
			err = nil
		}
		if err != nil || isOpen(d.GetWorkflowExecutionInfo().GetStatus()) {
			return written(w, "", err)
		}
		event, err := firstEvent(ctx, asks, executionOf(r), enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
		return written(w, resultOf(event)+failureText(event), err)
	})
	p.plain("GET "+one+"events/{event}", wholeEvent(part))
	p.plain("GET "+one+"history.json", wholeHistory)
}

func written(w io.Writer, text string, err error) error {
	if err == nil && text == "" {
		err = schedule.Errorf(schedule.CodeNotFound, "there is no such text")
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text+"\n")
	return err
}

// plain adds the address of a text without a page around it. An error before the first byte is a page; later, it cuts the text off.
func (p *Pages) plain(pattern string, write func(context.Context, *http.Request, *speaker.Speaker, io.Writer) error) {
	p.mux.HandleFunc(pattern, segment.Handler(pattern, func(w http.ResponseWriter, r *http.Request) {
		out := &lateWriter{to: w, kind: "text/plain; charset=utf-8"}
		if strings.HasSuffix(pattern, ".json") {
			out.kind = "application/json"
		}
		ctx, cancel := context.WithTimeout(r.Context(), wholeWait)
		defer cancel()
		asks, err := p.asks(r)
		if err == nil {
			err = write(ctx, r, asks, out)
		}
		switch {
		case err != nil && out.begun:
			panic(http.ErrAbortHandler) // so that nobody takes the beginning for all of it
		case err != nil:
			p.problem(r, asks, err).write(w, r)
		}
	}))
}

// wholeWait bounds how long a text without a page is read: a history may have 50 MB.
const wholeWait = 6 * executionWait

// lateWriter says what it writes when the first byte comes.
type lateWriter struct {
	to    http.ResponseWriter
	kind  string
	begun bool
}

// Write implements [io.Writer].
func (w *lateWriter) Write(text []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.to.Header().Set("Content-Type", w.kind)
	}
	return w.to.Write(text)
}

// wholeHistory writes a history as JSON, as Temporal's clients read it.
func wholeHistory(ctx context.Context, r *http.Request, asks *speaker.Speaker, w io.Writer) error {
	separator := `{"events":[`
	err := eachPage(ctx, r, asks, func(events []*history.HistoryEvent) (bool, error) {
		for _, event := range events {
			text, err := protojson.Marshal(event)
			if err == nil {
				_, err = io.WriteString(w, separator+"\n"+string(text))
			}
			if err != nil {
				return false, err
			}
			separator = ","
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}

// eachPage visits the pages of a history from the beginning, as long as visit says that it goes on.
func eachPage(ctx context.Context, r *http.Request, asks *speaker.Speaker, visit func([]*history.HistoryEvent) (bool, error)) error {
	for token := []byte(nil); ; {
		page, err := asks.Workflows.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: asks.Namespace(), Execution: executionOf(r), NextPageToken: token,
		})
		if err != nil {
			return err
		}
		goesOn, err := visit(page.GetHistory().GetEvents())
		if token = page.GetNextPageToken(); err != nil || !goesOn || len(token) == 0 {
			return err
		}
	}
}

// wholeEvent writes one event with all that it says.
func wholeEvent(part string) func(context.Context, *http.Request, *speaker.Speaker, io.Writer) error {
	return func(ctx context.Context, r *http.Request, asks *speaker.Speaker, w io.Writer) error {
		id, err := strconv.ParseInt(r.PathValue("event"), 10, 64)
		if err != nil || id < 1 {
			return schedule.Errorf(schedule.CodeNotFound, "the history has no event %s", r.PathValue("event"))
		}
		if part == ofArchive {
			text, err := eventText(ctx, r, asks, id, true)
			return written(w, text, err)
		}
		d, err := describe(ctx, asks, executionOf(r))
		if err != nil {
			return err
		}
		length := d.GetWorkflowExecutionInfo().GetHistoryLength()
		if id > length {
			return schedule.Errorf(schedule.CodeNotFound, "the history has no event %s", r.PathValue("event"))
		}
		text, err := eventText(ctx, r, asks, id, id <= length/2)
		return written(w, text, err)
	}
}

// eventText returns all that an event says. It reads the history from the end that is nearer.
func eventText(ctx context.Context, r *http.Request, asks *speaker.Speaker, id int64, oldest bool) (string, error) {
	for token := []byte(nil); ; {
		events, next, err := historyPage(ctx, r, asks, oldest, 0, token)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(events, func(e *history.HistoryEvent) bool { return e.GetEventId() == id })
		if token = next; i < 0 && len(token) > 0 {
			continue
		}
		if i < 0 {
			return "", nil
		}
		event := readable.EventOf(events[i])
		text := whole(id) + " " + event.Type + " " + event.Time.Format(isoTime) + "\n"
		for _, a := range event.Attributes {
			text += "\n" + a.Name + ":\n" + a.Text + "\n"
		}
		return text, nil
	}
}
