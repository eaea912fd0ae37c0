package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// watchPaths are the paths of live events: of a namespace, and of a schedule.
var watchPaths = []string{"/namespaces/{namespace}/events:watch", "/namespaces/{namespace}/schedules/{id}/events:watch"}

const (
	contentEvents   = "text/event-stream"
	headerLastEvent = "Last-Event-ID"
	// pulse is how often a viewer hears something, so that proxies keep the connection.
	pulse = 15 * time.Second
	// patience is how long a viewer may leave what it gets unread, before the connection is given up.
	patience = 10 * time.Second
	// margin is how much earlier the event history is read than the time of the last event says: an event is stored after its time, by another clock.
	margin = time.Minute
)

// position is how far a viewer has come: the last event that it has got.
type position struct {
	at time.Time
	id string
}

// String returns the ID of a server-sent event.
func (p position) String() string { return p.at.UTC().Format(time.RFC3339Nano) + "/" + p.id }

// readPosition reads the ID of a server-sent event. The zero position means now.
func readPosition(text string) (p position, err error) {
	if text == "" {
		return p, nil
	}
	at, id, ok := strings.Cut(text, "/")
	p.id = id
	p.at, err = time.Parse(time.RFC3339Nano, at)
	if !ok || err != nil {
		return p, schedule.Invalid(headerLastEvent, "is %s: send the id of an event of this stream, or leave it out to begin now", brief(text))
	}
	return p, nil
}

// watch answers with the live events of a namespace or a schedule, until the viewer goes.
func (a *API) watch(w http.ResponseWriter, request *http.Request) {
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	from, err := readPosition(request.Header.Get(headerLastEvent))
	if err != nil {
		refuse(w, err)
		return
	}
	speaker, err := a.speaker(request)
	if err != nil {
		refuse(w, err)
		return
	}
	leave, err := a.config.Stream(request)
	if err != nil {
		refuse(w, err)
		return
	}
	defer leave()
	id := request.PathValue("id")
	live, err := speaker.Watch(ctx, id)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", contentEvents)
	v := &viewer{w: w, control: http.NewResponseController(w), stop: a.config.Stop}
	if v.send(": hello\n\n") == nil {
		v.show(missed(ctx, speaker, id, from), pull(ctx, live), cancel)
	}
}

// mostMissed is how many events a viewer may have missed. Whoever has missed more reads the event history.
const mostMissed = 10_000

var errMissedMore = schedule.Errorf(schedule.CodeFailedPrecondition,
	"there have been more than %d events since Last-Event-ID: come again with the last ID that you have got, or read them page by page (…/events?from=TIME)",
	mostMissed)

// missed returns the events after a position that the event history has.
func missed(ctx context.Context, speaker *client.Client, id string, from position) iter.Seq2[schedule.Event, error] {
	if from.id == "" {
		return func(func(schedule.Event, error) bool) {}
	}
	return after(from, speaker.Events(ctx, schedule.HistoryRequest{ID: id, From: from.at.Add(-margin)}))
}

// after returns what of a history comes after a position.
func after(from position, history iter.Seq2[schedule.Event, error]) iter.Seq2[schedule.Event, error] {
	return func(yield func(schedule.Event, error) bool) {
		var before []schedule.Event // which the viewer has, if the last one that it has got comes
		found, read := false, 0
		for event, err := range history {
			isSince := !event.Time.Before(from.at) // what is older is read to be sure, and is neither kept nor counted
			if isSince {
				read++
			}
			if read > mostMissed {
				err = errMissedMore
			}
			switch {
			case err != nil:
				yield(event, err)
				return
			case event.ID == from.id:
				found, before = true, nil
			case found:
				if !yield(event, nil) {
					return
				}
			case isSince:
				before = append(before, event)
			}
		}
		for _, event := range before { // it is not there any more: better twice than not at all
			if !yield(event, nil) {
				return
			}
		}
	}
}

// viewer is a client that gets events.
type viewer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// stop is closed when the viewer is to go.
	stop <-chan struct{}
}

// show sends events until the viewer goes or is to go, or there are no more. What was missed comes first, and not again. In the end it cancels the live
// events, and waits until there are no more.
func (v *viewer) show(missed iter.Seq2[schedule.Event, error], live <-chan eventOrError, cancel func()) {
	defer func() {
		cancel()
		for range live {
		}
	}()
	seen := map[string]bool{}
	for event, err := range missed {
		if v.event(&event, err) != nil {
			return
		}
		seen[event.ID] = true
	}
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-beat.C:
			if v.send(": still here\n\n") != nil {
				return
			}
		case got, ok := <-live:
			if !ok || !seen[got.event.ID] && v.event(&got.event, got.err) != nil {
				return
			}
		}
	}
}

type eventOrError struct {
	event schedule.Event
	err   error
}

// pull returns a channel of what a sequence yields until ctx ends. The channel is closed when the sequence has ended.
func pull(ctx context.Context, of iter.Seq2[schedule.Event, error]) <-chan eventOrError {
	events := make(chan eventOrError)
	go func() {
		defer close(events)
		for event, err := range of {
			select {
			case events <- eventOrError{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// event sends an event. An error ends the stream; the viewer may come again, and goes on after the last event.
func (v *viewer) event(event *schedule.Event, err error) error {
	if err != nil {
		text, _ := json.Marshal(problemOf(err)) // which can be written
		_ = v.send(fmt.Sprintf("event: problem\ndata: %s\n\n", text))
		return err
	}
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return v.send(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", position{event.Time, event.ID}, event.Kind, text))
}

// send sends some text at once. The error says that the viewer has gone, or reads too slowly.
func (v *viewer) send(text string) error {
	deadline := time.Now().Add(patience) //permit:time.Now the deadline of a connection is one of the real clock
	if err := v.control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	return v.control.Flush()
}
