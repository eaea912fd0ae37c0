package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is the result of a run. As JSON it is one object, whose keys contain their units.
type Result struct {
	Scenario    string      `json:"scenario"`
	Parameters  Parameters  `json:"parameters"`
	Environment Environment `json:"environment"`
	// Offered is how many actions were due per second, Completed how many completions were stored per second, both during the
	// measurement.
	Offered   Rate `json:"offered_per_s"`
	Completed Rate `json:"completed_per_s"`
	// Due counts all actions of the run, including the warm-up. Started counts those whose code has begun, Missed those whose
	// code has not. Doubled counts how often code began again. Unexpected counts runs that no spec explains, Early those that
	// began before they were due.
	Due        int `json:"due"`
	Started    int `json:"started"`
	Missed     int `json:"missed"`
	Doubled    int `json:"doubled"`
	Unexpected int `json:"unexpected"`
	Early      int `json:"early"`
	// Lateness is the time from due to the code of the worker; nil where nothing is due.
	Lateness *Quantiles `json:"lateness_ms"`
	// Elapsed is the length of the measurement.
	Elapsed Seconds `json:"elapsed_s"`
	// CPU is what the process used in that time, including embedded NATS; Cores is CPU per second.
	CPU   Seconds `json:"cpu_seconds"`
	Cores Rate    `json:"cpu_cores"`
	// ServerCores is the share of the server in Cores, for workflows. If the server runs in this process, the clients are included.
	ServerCores Rate `json:"server_cpu_cores,omitempty"`
	// Processes is CPU by process, if NATS and the roles have their own processes; "bench" is this one, which is the worker.
	Processes map[string]Seconds `json:"cpu_seconds_by_process,omitempty"`
	// PeakRSS is the peak memory of the process during the run, RSS its memory at the end.
	PeakRSS int64 `json:"peak_rss_bytes"`
	RSS     int64 `json:"rss_bytes"`
	Disk    int64 `json:"disk_bytes"`
	// Messages is how many messages were stored for each action; MessagesByStream says where.
	Messages         Rate            `json:"messages_per_action"`
	MessagesByStream map[string]Rate `json:"messages_per_action_by_stream,omitempty"`
	// RecordWrites is how often the record of a schedule was written until its runs were completed, RecordBytes the total size
	// of these writes.
	RecordWrites int   `json:"record_writes,omitempty"`
	RecordBytes  int64 `json:"record_bytes,omitempty"`
	// Workflows are the figures of each kind of workflow under each load.
	Workflows []WorkflowLoad `json:"workflows,omitempty"`
	// IndexBytes is the size of the search index on disk, for scenarios that are about it.
	IndexBytes int64 `json:"index_bytes,omitempty"`
	// CreatedRSS is the memory of the processes after everything was created, for scenarios that restart them then.
	CreatedRSS int64 `json:"created_rss_bytes,omitempty"`
	// RawPuts is the rate of the same server without Carillon, RawBytes the size of its messages if that is not 600.
	RawPuts  Rate `json:"raw_puts_per_s"`
	RawBytes int  `json:"raw_put_bytes,omitempty"`
	// Operations are the kinds of request of the API.
	Operations map[string]Operation `json:"operations,omitempty"`
	// Times are further durations of the scenario, Rates further rates, by name.
	Times map[string]Seconds `json:"times_s,omitempty"`
	Rates map[string]Rate    `json:"rates_per_s,omitempty"`
}

// Environment is where a run took place.
type Environment struct {
	// NATS is "embedded", "a process" of the run, or the URL.
	NATS        string `json:"nats"`
	NATSVersion string `json:"nats_version"`
	// Sync is the sync mode of the embedded server.
	Sync        string `json:"sync,omitempty"`
	Shards      int    `json:"shards"`
	Replicas    int    `json:"replicas"`
	Concurrency int    `json:"worker_concurrency"`
	Version     string `json:"version"`
	Go          string `json:"go"`
	CPUs        int    `json:"cpus"`
	// Processes says that NATS and each role except the worker had a process of its own.
	Processes bool `json:"processes,omitempty"`
	// Scale is how many processes there were of a role, if not one of each.
	Scale map[string]int `json:"scale,omitempty"`
	// RoundTrip is the round trip to NATS that was added for them.
	RoundTrip Milliseconds `json:"round_trip_ms,omitempty"`
	// Worker is where the worker was, if not on the connection of the roles.
	Worker string `json:"worker,omitempty"`
	// Address is where a server was measured that the run has not started, ServerVersion what it says of itself. Nothing else is known of it.
	Address       string `json:"address,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	// Profiled says that profiles were taken, which costs time.
	Profiled bool `json:"profiled,omitempty"`
}

// Operation is the result of one kind of request.
type Operation struct {
	Count  int  `json:"count"`
	PerS   Rate `json:"per_s"`
	Errors int  `json:"errors"`
	// Latency is the time from the request to its answer.
	Latency *Quantiles `json:"latency_ms"`
	// CPU is the processor time for each, of all processes except the worker; zero if it was not taken.
	CPU Milliseconds `json:"cpu_ms_each,omitempty"`
}

func (o Operation) words() string {
	text := strconv.Itoa(o.Count)
	if o.Latency != nil {
		text += ", one after the other"
	}
	if o.Errors > 0 {
		text += fmt.Sprintf(", %d errors", o.Errors)
	}
	if o.PerS > 0 {
		text = fmt.Sprintf("%d, %s/s, %d errors", o.Count, digits(o.PerS), o.Errors)
	}
	if o.CPU > 0 {
		text += fmt.Sprintf("; %s ms CPU for each beside the worker", digits(o.CPU))
	}
	return text
}

// Rate is a figure with at most three digits after the point.
type Rate float64

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) { return number(float64(r)), nil }

// OK reports whether everything that was due ran exactly once.
func (r *Result) OK() bool { return r.Missed+r.Doubled+r.Unexpected+r.Early == 0 }

// number is a JSON number with at most three digits after the point.
func number(f float64) []byte {
	return strconv.AppendFloat(nil, math.Round(f*1000)/1000, 'f', -1, 64)
}

// count adds work that was asked for, and how much of it was completed.
func (r *Result) count(asked, completed int) {
	r.Due, r.Started, r.Missed = r.Due+asked, r.Started+completed, r.Missed+asked-completed
}

// time notes a duration.
func (r *Result) time(name string, took time.Duration) {
	if r.Times == nil {
		r.Times = map[string]Seconds{}
	}
	r.Times[name] = Seconds(took)
}

// rate notes how many of something there were in a time.
func (r *Result) rate(name string, count int, took time.Duration) {
	if r.Rates == nil {
		r.Rates = map[string]Rate{}
	}
	r.Rates[name] = Rate(float64(count) / took.Seconds())
}

// operation notes how long requests of one kind took.
func (r *Result) operation(name string, o Operation) {
	if r.Operations == nil {
		r.Operations = map[string]Operation{}
	}
	r.Operations[name] = o
}

// apply copies the counts of a ledger.
func (r *Result) apply(t tally) {
	r.Due, r.Started, r.Missed, r.Doubled = t.due, t.started, t.missed, t.doubled
	r.Unexpected, r.Early = t.unexpected, t.early
}

// Write writes the result in readable form, as a table.
func (r *Result) Write(w io.Writer) error {
	var t table
	t.row(r.Scenario, "%s", r.Parameters.words())
	t.row("on", "%s", r.Environment.words())
	if r.Due > 0 && r.Scenario != workflowsName {
		t.row("actions", "%d due, %d started, %d missed, %d doubled%s", r.Due, r.Started, r.Missed, r.Doubled, r.strange())
		if r.Lateness != nil {
			t.row("rate", "%s%s/s completed", r.offer(), digits(r.Completed))
		}
	}
	t.quantiles("lateness", r.Lateness)
	t.workflows(r)
	for _, name := range slices.Sorted(maps.Keys(r.Operations)) {
		o := r.Operations[name]
		t.row(name, "%s", o.words())
		t.quantiles("", o.Latency)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Times)) {
		t.row(words(name), "%.3f s", seconds(r.Times[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Rates)) {
		t.row(words(name), "%s/s", digits(r.Rates[name]))
	}
	t.row("CPU", "%.2f s in %.2f s: %.3f cores", seconds(r.CPU), seconds(r.Elapsed), float64(r.Cores))
	if len(r.Processes) > 0 {
		t.row("", "%s", byProcess(r.Processes))
	}
	if r.ServerCores > 0 {
		t.row("", "server %.3f cores", float64(r.ServerCores))
	}
	t.row("memory", "%s at most, %s at the end", mebibytes(r.PeakRSS), mebibytes(r.RSS))
	if r.CreatedRSS > 0 {
		t.row("", "%s before the restart", mebibytes(r.CreatedRSS))
	}
	if r.Environment.Address != "" {
		return t.write(w)
	}
	t.row("disk", "%s", mebibytes(r.Disk))
	if r.IndexBytes > 0 {
		t.row("", "%s of it the search index", mebibytes(r.IndexBytes))
	}
	if r.Messages > 0 {
		t.row("messages", "%.2f for each action: %s", float64(r.Messages), byStream(r.MessagesByStream))
	}
	if r.RecordWrites > 0 {
		t.row("record", "%d writes, %s", r.RecordWrites, mebibytes(r.RecordBytes))
	}
	t.row("raw puts", "%s/s, %s", digits(r.RawPuts), r.share())
	return t.write(w)
}

// share is the rate of the actions as a share of the raw rate.
func (r *Result) share() string {
	text := fmt.Sprintf("64 publishers, %d B", cmp.Or(r.RawBytes, rawBytes))
	if r.Completed == 0 || r.RawPuts == 0 {
		return text
	}
	return fmt.Sprintf("%s: %.1f for each action completed", text, float64(r.RawPuts/r.Completed))
}

// offer is empty where everything is asked for at once.
func (r *Result) offer() string {
	if r.Offered == 0 {
		return ""
	}
	return digits(r.Offered) + "/s offered, "
}

func (r *Result) strange() string {
	if r.Unexpected+r.Early == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unexpected, %d early", r.Unexpected, r.Early)
}

// words names the parameters that are set.
func (p Parameters) words() string {
	text, err := json.Marshal(p)
	var values map[string]any
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, unit := strings.TrimSuffix(name, "_s"), ""
		if key != name {
			unit = "s"
		}
		value := values[name]
		if f, ok := value.(float64); ok {
			value = string(number(f))
		}
		parts = append(parts, fmt.Sprintf("%s %v%s", key, value, unit))
	}
	return strings.Join(parts, ", ")
}

func (e Environment) words() string {
	if e.Address != "" {
		return fmt.Sprintf("%s, version %s, %d CPUs, %s", e.Address, e.ServerVersion, e.CPUs, e.Go)
	}
	sync := ""
	if e.Sync != "" {
		sync = ", sync " + e.Sync
	}
	distance := ""
	for _, role := range slices.Sorted(maps.Keys(e.Scale)) {
		distance += fmt.Sprintf(", %d of %s", e.Scale[role], role)
	}
	if e.RoundTrip > 0 {
		distance += fmt.Sprintf(", %s ms away", digits(e.RoundTrip))
	}
	where := ""
	if e.Worker != "" {
		where = ", worker " + e.Worker
	}
	profiled := ""
	if e.Profiled {
		profiled = ", with profiles"
	}
	return fmt.Sprintf("NATS %s %s%s%s, shards %d, replicas %d, %d CPUs, %s%s%s",
		e.NATSVersion, e.NATS, distance, sync, e.Shards, e.Replicas, e.CPUs, e.Go, where, profiled)
}

// byStream lists the streams, the one with most messages first.
func byStream(messages map[string]Rate) string {
	names := slices.SortedFunc(maps.Keys(messages), func(a, b string) int {
		return cmp.Or(cmp.Compare(messages[b], messages[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.2f", words(name), float64(messages[name]))
	}
	return strings.Join(names, ", ")
}

// byProcess lists the processes, the one that used most first.
func byProcess(used map[string]Seconds) string {
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.2f s", name, seconds(used[name]))
	}
	return strings.Join(names, ", ")
}

// table collects the rows of a table: a name and a text.
type table struct{ rows [][2]string }

func (t *table) row(name, format string, args ...any) {
	t.rows = append(t.rows, [2]string{name, fmt.Sprintf(format, args...)})
}

// write aligns the second column.
func (t *table) write(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		if _, err := fmt.Fprintf(aligned, "%s\t%s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return aligned.Flush()
}

// workflows writes three rows for each load.
func (t *table) workflows(r *Result) {
	if r.Scenario == workflowsName {
		t.row("workflows", "%d asked for, %d completed, %d missed", r.Due, r.Started, r.Missed)
	}
	for i := range r.Workflows {
		w := &r.Workflows[i]
		t.row(w.Kind+", "+w.Load, "%s", w.words())
		t.quantiles("  to its code", w.FirstCode)
		t.quantiles("  to its result", w.Result)
	}
}

func (t *table) quantiles(name string, q *Quantiles) {
	if q != nil {
		t.row(name, "p50 %s  p90 %s  p99 %s  p99.9 %s  max %s ms",
			digits(q.P50), digits(q.P90), digits(q.P99), digits(q.P999), digits(q.Max))
	}
}

// digits writes a figure with its significant digits.
func digits[F ~float64](f F) string {
	switch {
	case f >= 100:
		return strconv.FormatFloat(float64(f), 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(float64(f), 'f', 1, 64)
	}
	return strconv.FormatFloat(float64(f), 'f', 2, 64)
}

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func seconds(s Seconds) float64 { return float64(s) / 1e9 }
