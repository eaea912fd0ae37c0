package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// Config says where to measure. The zero value of each field except Names is its default.
type Config struct {
	// Dial connects to the NATS server to use. Without it a server is embedded.
	Dial func(...nats.Option) (*nats.Conn, error)
	// Names are the names of the installation. On an existing server they are made unique, so that an existing installation is
	// left alone; everything that the run has made is removed at its end.
	Names subjects.Names
	// Sync is the sync mode of the embedded server: natsserver.SyncInterval by default. Dir is where it makes a folder for its
	// data, which is removed at the end: among the temporary files by default.
	Sync natsserver.SyncMode
	Dir  string
	// Processes gives NATS and each role except the worker a process of its own; Dial must be unset. Binary is the program that
	// they run: this one by default.
	Processes bool
	// Scale is how many processes there are of a role, with Processes; one of each that it does not name. [Scalable] are the roles that may have
	// several.
	Scale map[string]int
	// RoundTrip is the shortest time of an answer of NATS to the roles and the worker, with Processes. Zero adds nothing to
	// what the machine itself takes.
	RoundTrip time.Duration
	Binary    string
	// Worker says where the worker is: WorkerTogether by default. The other values need an embedded server.
	Worker string
	// Shards and Replicas belong to the installation, Concurrency to the worker.
	Shards, Replicas, Concurrency int
	// Address is the address of a running frontend of Temporal or of Carillon; empty for an installation of the run. Only the scenario with
	// workloads can use one. Namespace is the namespace there, "default" by default. ServerPID is the process ID of that frontend, if it runs on
	// this machine; zero leaves its processor time and memory out.
	Address   string
	Namespace string
	ServerPID int
	// Profiles is a folder for profiles; empty for none.
	Profiles string
	// RawDuration is how long the raw rate is measured; 2 s by default.
	RawDuration time.Duration
	// Patience is how long nothing may happen before what is outstanding counts as missed; 20 s by default.
	Patience time.Duration
	// ReturnMemory begins to return memory as a process of this program does, until stop returns; a restart begins it again.
	// Nil leaves that to Go.
	ReturnMemory func(context.Context) (stop func())
	// Version is the version of this program.
	Version string
	// listsOnly lets only the roles run that answer lists.
	listsOnly bool
	Logger    *slog.Logger
	// Progress is told what is going on, and how far it is; total is zero if unknown.
	Progress func(stage string, done, total int)
}

func (c Config) withDefaults() Config {
	if c.Sync == "" {
		c.Sync = natsserver.SyncInterval
	}
	if c.Concurrency == 0 {
		c.Concurrency = worker.DefaultConcurrency
	}
	if c.Worker == "" {
		c.Worker = WorkerTogether
	}
	if c.RawDuration == 0 {
		c.RawDuration = 2 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 20 * time.Second
	}
	if c.ReturnMemory == nil {
		c.ReturnMemory = func(context.Context) func() { return func() {} }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

// session is one run of a scenario.
type session struct {
	Parameters
	config Config
	names  subjects.Names
	host   *host
	*installation
	profiler *profiler
	result   *Result
	// stopReturning stops returning memory.
	stopReturning func()

	// queue is the task queue of the workflows, with which their IDs begin.
	queue string
	// workers has the process of the worker of workflows; nil if there has been none. counts are the counts of that worker.
	workers *children
	counts  *workerCounts

	// answer is what each run returns, if anything.
	answer string

	// onRun is told of each run as its code begins.
	onRun atomic.Pointer[func(run *worker.Run, at time.Time)]
	fail  context.CancelCauseFunc
}

// Run measures a scenario on an installation of its own, which is removed again. An error means that the measurement was not
// possible; missed or doubled actions are in the result.
func Run(ctx context.Context, scenario Scenario, p Parameters, c Config) (_ *Result, err error) {
	if err := scenario.Check(p); err != nil {
		return nil, err
	}
	if c.Address != "" && !scenario.takes(ParamKind) {
		return nil, schedule.Invalid("address", "%s runs on an installation of its own only", scenario.Name)
	}
	s := &session{Parameters: p, config: c.withDefaults(), names: c.Names, queue: taskQueue, answer: strings.Repeat("x", p.ResultBytes)}
	s.config.Concurrency = max(s.config.Concurrency, p.Runs) // all of them at once
	s.result = &Result{Scenario: scenario.Name, Parameters: p}
	if s.profiler, err = newProfiler(c.Profiles, scenario.Name); err != nil {
		return nil, err
	}
	s.beginHeap(ctx)
	defer func() { s.stopReturning() }()
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		err = errors.Join(err, s.profiler.stop(), s.close(ctx))
	}()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := scenario.measure(ctx, s); err != nil {
		return nil, err
	}
	return s.result, s.finish(ctx)
}

// beginHeap makes the memory of this process that of one that has just started, as far as possible. Pooled memory is gone after
// two collections.
func (s *session) beginHeap(ctx context.Context) {
	runtime.GC()
	debug.FreeOSMemory()
	resetPeak()
	s.stopReturning = s.config.ReturnMemory(ctx)
}

// open starts NATS and the installation.
func (s *session) open(ctx context.Context) (err error) {
	s.config.Progress("starting", 0, 0)
	if s.foreign() {
		return s.openForeign(ctx)
	}
	if s.host, err = openHost(ctx, &s.config, s.fail); err != nil {
		return err
	}
	if s.config.Dial != nil {
		if s.names, err = uniqueNames(s.names); err != nil {
			return err
		}
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	s.result.Environment = s.environment()
	return nil
}

func (s *session) install(ctx context.Context) (err error) {
	s.installation, err = startInstallation(ctx, s.host, &s.config, s.names, s.handle, s.fail)
	return err
}

// handle is the code of all actions.
func (s *session) handle(_ context.Context, run *worker.Run) (any, error) {
	at := time.Now()
	if note := s.onRun.Load(); note != nil {
		(*note)(run, at)
	}
	if s.ResultBytes > 0 {
		return s.answer, nil
	}
	return nil, nil
}

// follow notes the runs in a ledger from now on.
func (s *session) follow(l *ledger) {
	note := func(run *worker.Run, at time.Time) { l.begin(run.ScheduleID, run.NominalTime, at) }
	s.onRun.Store(&note)
}

// finish takes the figures that every scenario has.
func (s *session) finish(ctx context.Context) error {
	if err := s.profiler.stop(); err != nil {
		return err
	}
	r := s.result
	if r.RSS == 0 {
		s.noteMemory()
	}
	if s.foreign() {
		return nil
	}
	streams, err := s.traffic(ctx)
	if err != nil {
		return err
	}
	if r.Disk, err = s.host.disk(streams); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil { // the server should have nothing else to do
		return err
	}
	s.config.Progress("raw puts", 0, 0)
	r.RawPuts, err = rawPuts(ctx, s.js, s.names, max(s.config.Replicas, 1), cmp.Or(r.RawBytes, rawBytes), s.config.RawDuration)
	return err
}

// close stops everything and removes what the run has made.
func (s *session) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearTimeout)
	defer cancel()
	s.config.Progress("removing", 0, 0)
	if s.workers != nil {
		s.workers.close()
	}
	if i := s.installation; i != nil && !s.foreign() {
		shards := max(s.config.Shards, i.shards())
		err = errors.Join(i.stopRoles(), s.host.clear(ctx, i.js, s.names, shards), i.close())
	}
	if s.host != nil {
		err = errors.Join(err, s.host.close())
	}
	return err
}

// uniqueNames returns names that no other installation has.
func uniqueNames(names subjects.Names) (subjects.Names, error) {
	const longest = 20 // of 32, beside what follows
	prefix := strings.TrimRight(names.Prefix()[:min(len(names.Prefix()), longest)], "-")
	return subjects.New(fmt.Sprintf("%s-bench-%05x", prefix, rand.Uint32N(1<<20)))
}

func (s *session) environment() Environment {
	e := Environment{
		NATS: "embedded", NATSVersion: s.asks.ConnectedServerVersion(),
		Shards: s.cluster.Facts.Shards, Replicas: s.cluster.Facts.Replicas, Concurrency: s.config.Concurrency,
		Version: s.config.Version, Go: runtime.Version(), CPUs: min(runtime.GOMAXPROCS(0), runtime.NumCPU()), Profiled: s.profiler != nil,
	}
	if s.config.Worker != WorkerTogether {
		e.Worker = s.config.Worker
	}
	if s.host.children != nil {
		e.Scale = s.config.Scale
		e.NATS, e.Processes, e.RoundTrip = "a process", true, Milliseconds(float64(s.config.RoundTrip)/1e6)
	}
	if s.host.external == nil {
		e.Sync = string(s.config.Sync)
	} else {
		e.NATS = s.asks.ConnectedUrlRedacted()
	}
	return e
}

// gauge is what the process and the streams have used up to a moment.
type gauge struct {
	at      time.Time
	usages  map[string]usage
	traffic traffic
}

// begin starts the measurement.
func (s *session) begin(ctx context.Context) (gauge, error) {
	if err := s.profiler.start(); err != nil {
		return gauge{}, err
	}
	return s.gauge(ctx)
}

// end ends it, and notes what was used meanwhile.
func (s *session) end(ctx context.Context, from gauge) (gauge, error) {
	to, err := s.gauge(ctx)
	if err != nil {
		return to, err
	}
	elapsed, cpu := to.at.Sub(from.at), total(to.usages).cpu-total(from.usages).cpu
	s.result.Elapsed, s.result.CPU = Seconds(elapsed), Seconds(cpu)
	if s.result.Scenario == workflowsName {
		s.result.ServerCores = Rate((s.server(to.usages).cpu - s.server(from.usages).cpu).Seconds() / elapsed.Seconds())
	}
	s.result.Processes = nil
	if len(to.usages) > 1 {
		s.result.Processes = map[string]Seconds{}
		for name, used := range to.usages {
			s.result.Processes[name] = Seconds(used.cpu - from.usages[name].cpu)
		}
	}
	s.result.Cores = Rate(cpu.Seconds() / elapsed.Seconds())
	return to, s.profiler.stop()
}

// during measures while do works.
func (s *session) during(ctx context.Context, do func() error) (from, to gauge, err error) {
	if from, err = s.begin(ctx); err != nil {
		return from, to, err
	}
	if err := do(); err != nil {
		return from, to, err
	}
	to, err = s.end(ctx, from)
	return from, to, err
}

func (s *session) gauge(ctx context.Context) (gauge, error) {
	streams, err := s.traffic(ctx)
	return gauge{at: time.Now(), usages: s.usages(), traffic: streams}, err
}

// noteMemory notes the memory that the processes have now; only that of the server if it is not of this run.
func (s *session) noteMemory() {
	all := s.usages()
	sum := total(all)
	if s.foreign() {
		sum = s.server(all)
	}
	s.result.RSS, s.result.PeakRSS = sum.rss, sum.peak
}

func (s *session) traffic(ctx context.Context) (traffic, error) {
	if s.foreign() {
		return traffic{}, nil
	}
	return readTraffic(ctx, s.js, streamKinds(s.names, s.cluster.Facts.Shards))
}
