package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

const (
	// defaultHTTPTimeout bounds a request whose input sets no timeout.
	defaultHTTPTimeout = 30 * time.Second
	// maxHTTPBody is how much of a response is read for the result.
	maxHTTPBody = 256 << 10
	// maxExcerpt is how much of a response the details of a failure show.
	maxExcerpt = 2 << 10
)

// The failure types of the http action. TypeHTTPStatus is retryable if the status is 408, 425, 429 or 5xx. TypeHTTPRequest is always
// retryable; TypeForbiddenTarget never is.
const (
	TypeHTTPStatus      = "http_status"
	TypeHTTPRequest     = "http_request"
	TypeForbiddenTarget = "forbidden_target"
)

// httpInput is the input of the http action.
type httpInput struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	// Body is the body of the request. A text is sent as it is, anything else as JSON.
	Body json.RawMessage `json:"body"`
	// SuccessCodes are the status codes that mean success; 200 to 299 by default.
	SuccessCodes []statusRange `json:"successCodes"`
	// Timeout bounds the request, but not the wait for a callback.
	Timeout schedule.Duration `json:"timeout"`
	// Callback says that the run ends with a callback, not with the response.
	Callback bool `json:"callback"`
}

// HTTPResult is the result of the http action.
type HTTPResult struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	// Body is the body of the response: as JSON if it is JSON, else as a text.
	Body any `json:"body,omitempty"`
	// Truncated says that the response was longer.
	Truncated bool `json:"truncated,omitempty"`
}

// httpAction makes HTTP requests.
type httpAction struct {
	client    *http.Client
	callbacks *Callbacks
}

func newHTTPAction(allowPrivate bool, callbacks *Callbacks) *httpAction {
	isForbidden := isPrivate
	if allowPrivate {
		isForbidden = func(netip.Addr) bool { return false }
	}
	return newHTTPActionBy(newDialer(isForbidden), callbacks)
}

func newHTTPActionBy(dialer *net.Dialer, callbacks *Callbacks) *httpAction {
	return &httpAction{callbacks: callbacks, client: &http.Client{Transport: &http.Transport{
		// No proxy: it could reach addresses that this process must not reach.
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 10, IdleConnTimeout: 30 * time.Second,
	}}}
}

func (h *httpAction) handle(ctx context.Context, run *worker.Run) (any, error) {
	var in httpInput
	if err := decode(run, &in); err != nil {
		return nil, err
	}
	request, err := in.request(run)
	if err != nil {
		return nil, err
	}
	if !in.Callback {
		return h.do(ctx, &in, request)
	}
	if h.callbacks == nil {
		return nil, worker.InvalidInput("callback: this worker receives none: start it with --callback-listen and --callback-url")
	}
	awaited := h.callbacks.expect()
	defer awaited.forget()
	request.Header.Set(CallbackHeader, awaited.url)
	if _, err := h.do(ctx, &in, request); err != nil {
		return nil, err
	}
	return awaited.wait(ctx)
}

// request makes the request that the input asks for.
func (in *httpInput) request(run *worker.Run) (*http.Request, error) {
	expand := newExpander(run)
	target := expand.text("url", in.URL, inURL)
	headers := expand.texts("headers", in.Headers)
	body, isJSON := expand.payload("body", in.Body)
	if expand.err != nil {
		return nil, expand.err
	}
	if at, err := url.Parse(target); err != nil || !isWeb(at) {
		return nil, worker.InvalidInput("url: %q must be an address such as https://example.com/path", target)
	}
	if err := checkTimeout(in.Timeout); err != nil {
		return nil, err
	}
	request, err := http.NewRequest(in.method(), target, bytes.NewReader(body))
	if err != nil {
		return nil, worker.InvalidInput("method: %q is none", in.Method)
	}
	if isJSON {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "carillon")
	request.Header.Set("Idempotency-Key", run.RequestID)
	for name, value := range headers {
		if !headerName.MatchString(name) || !headerValue.MatchString(value) {
			return nil, worker.InvalidInput("headers: %q: %q is not a header", name, value)
		}
		request.Header.Set(name, value)
		if textproto.CanonicalMIMEHeaderKey(name) == "Host" {
			request.Host = value
		}
	}
	return request, nil
}

// isWeb reports whether a URL is an absolute HTTP or HTTPS URL.
func isWeb(at *url.URL) bool { return at.Host != "" && (at.Scheme == "http" || at.Scheme == "https") }

// The characters that a header may contain (RFC 9110 §5.1 and §5.5).
var (
	headerName  = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// inURL escapes a text for the path of a URL as well as for its query.
func inURL(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func (in *httpInput) method() string {
	switch {
	case in.Method != "":
		return strings.ToUpper(in.Method)
	case len(in.Body) > 0:
		return http.MethodPost
	}
	return http.MethodGet
}

// do makes the request and reads the response.
func (h *httpAction) do(ctx context.Context, in *httpInput, request *http.Request) (HTTPResult, error) {
	ctx, cancel := withTimeout(ctx, in.Timeout, defaultHTTPTimeout)
	defer cancel()
	ctx, span := telemetry.StartHTTP(ctx, request)
	defer span.End()
	telemetry.Inject(ctx, nats.Header(request.Header))
	response, err := h.client.Do(request.WithContext(ctx))
	telemetry.HTTPAnswered(span, response, err)
	if err != nil {
		return HTTPResult{}, requestError(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHTTPBody+1))
	if err != nil {
		return HTTPResult{}, requestError(ctx, err)
	}
	result := HTTPResult{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type")}
	if len(body) > maxHTTPBody {
		body, result.Truncated = body[:maxHTTPBody], true
	}
	if !in.isSuccess(response.StatusCode) {
		return HTTPResult{}, statusError(response, body)
	}
	result.Body = asResult(body)
	return result, nil
}

func requestError(ctx context.Context, err error) error {
	if forbidden, ok := errors.AsType[*forbiddenTarget](err); ok {
		return &worker.Error{Type: TypeForbiddenTarget, Message: forbidden.Error(), NonRetryable: true}
	}
	return &worker.Error{Type: TypeHTTPRequest, Message: "the request failed", Err: because(ctx, err)}
}

// statusError returns the error of a status that means no success. An error of the client remains one, however often the request is
// repeated.
func statusError(response *http.Response, body []byte) error {
	code := response.StatusCode
	passing := code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests
	return &worker.Error{
		Type: TypeHTTPStatus, Message: "the answer was " + response.Status,
		NonRetryable: code < http.StatusInternalServerError && !passing,
		Details: map[string]any{
			"status": code, "body": asText(body[:min(len(body), maxExcerpt)]),
		},
	}
}

func (in *httpInput) isSuccess(code int) bool {
	for _, r := range in.SuccessCodes {
		if r.from <= code && code <= r.to {
			return true
		}
	}
	return len(in.SuccessCodes) == 0 && 200 <= code && code <= 299
}

// statusRange is a range of status codes, both ends included: 404, "404", "2xx" or "200-204".
type statusRange struct{ from, to int }

func (r *statusRange) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if len(text) == 3 && strings.HasSuffix(strings.ToLower(text), "xx") {
		text = text[:1] + "00-" + text[:1] + "99"
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	var err error
	if r.from, err = statusCode(from); err == nil {
		r.to, err = statusCode(to)
	}
	if err != nil || r.from > r.to {
		return fmt.Errorf(`%s must be a code such as 204, or a range such as "2xx" or "200-204"`, data)
	}
	return nil
}

func statusCode(text string) (int, error) {
	var code int
	if err := json.Unmarshal([]byte(text), &code); err != nil || code < 100 || code > 599 {
		return 0, errors.New("not a status code")
	}
	return code, nil
}
