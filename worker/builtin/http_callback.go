package builtin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// CallbackHeader is the header of a request of the http action that waits for a callback. It tells the receiver where to report how its job
// ended: with a POST of a [Callback], or with an empty POST for success.
const CallbackHeader = "Carillon-Callback-Url"

// Callback is what a job reports about itself, as JSON. The statuses completed, failed and canceled end the run. The status running is a
// sign of life, with details.
type Callback struct {
	Status  schedule.Status   `json:"status"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Failure *schedule.Failure `json:"failure,omitempty"`
	Details json.RawMessage   `json:"details,omitempty"`
}

// statusRunning is the status of a job that is not over.
const statusRunning schedule.Status = "running"

// Callbacks receives callbacks: it is the handler of an HTTP server that jobs can reach. Each attempt of a run has its own address. The
// address is a secret, and valid until the attempt is over. It is safe for concurrent use.
type Callbacks struct {
	base string

	mu      sync.Mutex
	waiting map[string]*awaited
}

var _ http.Handler = (*Callbacks)(nil)

// NewCallbacks returns a receiver of callbacks. Jobs reach it at the given URL and at paths below it.
func NewCallbacks(base string) (*Callbacks, error) {
	at, err := url.Parse(base)
	if err != nil || !isWeb(at) || at.RawQuery != "" || at.Fragment != "" {
		return nil, schedule.Invalid("callbackUrl", "%q must be a URL such as https://worker.example.com/callbacks", base)
	}
	return &Callbacks{base: strings.TrimSuffix(base, "/"), waiting: map[string]*awaited{}}, nil
}

// awaited is a callback that a run waits for.
type awaited struct {
	all   *Callbacks
	token string
	url   string
	calls chan Callback
	// over is closed when the run no longer waits.
	over chan struct{}
}

func (c *Callbacks) expect() *awaited {
	token := rand.Text()
	a := &awaited{all: c, token: token, url: c.base + "/" + token, calls: make(chan Callback), over: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[token] = a
	return a
}

func (a *awaited) forget() {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	delete(a.all.waiting, a.token)
	close(a.over)
}

// wait waits for the job and returns how it ended.
func (a *awaited) wait(ctx context.Context) (any, error) {
	for {
		select {
		case call := <-a.calls:
			switch call.Status {
			case schedule.StatusCompleted:
				return call.Result, nil
			case statusRunning:
				_ = worker.Heartbeat(ctx, call.Details) // its error only repeats the end of ctx
			default:
				return nil, call.failure()
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// failure returns why a job did not succeed. The retry policy of the action decides what follows.
func (c *Callback) failure() error {
	failed := &worker.Error{Type: "job_" + string(c.Status), Message: "the job has reported that it " + string(c.Status)}
	if c.Failure != nil {
		failed.Message = c.Failure.Message
		if c.Failure.Type != "" {
			failed.Type = c.Failure.Type
		}
		failed.Details = c.Failure.Details
	}
	return failed
}

// ServeHTTP takes a callback. It answers 204 if a run took it, 404 if no run waits for it (any more), and 400 or 405 if it is not a valid
// callback.
func (c *Callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a callback is a POST", http.StatusMethodNotAllowed)
		return
	}
	c.mu.Lock()
	run := c.waiting[path.Base(r.URL.Path)]
	c.mu.Unlock()
	if run == nil {
		http.Error(w, noRun, http.StatusNotFound)
		return
	}
	call, err := readCallback(http.MaxBytesReader(w, r.Body, worker.MaxResultBytes+maxExcerpt))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case run.calls <- call:
		w.WriteHeader(http.StatusNoContent)
	case <-run.over:
		http.Error(w, noRun, http.StatusNotFound)
	case <-r.Context().Done():
	}
}

const noRun = "no run waits for this callback: it is over, or has been started again"

func readCallback(body io.Reader) (Callback, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return Callback{}, fmt.Errorf("the callback cannot be read: %w", err)
	}
	call := Callback{Status: schedule.StatusCompleted}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &call); err != nil {
			return Callback{}, fmt.Errorf("the callback is not JSON as expected: %w", err)
		}
	}
	switch call.Status {
	case schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusCanceled, statusRunning:
		return call, nil
	}
	return Callback{}, fmt.Errorf("status %q must be completed, failed, canceled or running", call.Status)
}
