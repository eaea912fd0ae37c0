// Command measure runs "carillon bench" in series, with more and more schedules, shards and nodes, and adds each result to
// a file as a line of JSON. It starts the NATS servers that it needs, and leaves nothing behind. README.md of the folder
// above says how to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// published is where the figures are from which the charts in the repository are drawn.
const published = "../figures.jsonl"

// options are the flags.
type options struct {
	out, series, sizes, source, program, data string

	runs        int
	quick, list bool
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", published, "add the results to `FILE`, and make only those that it has not")
	flag.StringVar(&o.series, "series", strings.Join(figures.Series(), ","), "make these `SERIES`, separated by commas")
	flag.StringVar(&o.sizes, "sizes", "", "use so many schedules, as `N,N,...`, instead of 1000,10000,100000")
	flag.IntVar(&o.runs, "runs", 5, "make `N` runs of each measurement")
	flag.StringVar(&o.program, "binary", "", "measure this `FILE` instead of building the program")
	flag.StringVar(&o.source, "source", "../../..", "build what is in `DIR`")
	flag.StringVar(&o.data, "data", "", "make the temporary folder in `DIR`, to measure its disk")
	flag.BoolVar(&o.quick, "quick", false, "use little of everything, to see whether it works; needs another file")
	flag.BoolVar(&o.list, "list", false, "only say what would be run, and how often it has been")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.quick && o.out == published {
		return errors.New("-quick: name another file with -out, these figures are worth nothing")
	}
	size := whole
	if o.quick {
		size = quick
	}
	if o.sizes != "" {
		var err error
		if size.sizes, err = counts(o.sizes); err != nil {
			return fmt.Errorf("-sizes: %w", err)
		}
	}
	todo, err := plan(size, strings.Split(o.series, ","))
	if err != nil {
		return err
	}
	there, err := figures.Read(o.out)
	if err != nil {
		return err
	}
	done := figures.Count(there)
	if o.list {
		for _, m := range todo {
			fmt.Printf("%-17s %d of %d  %s\n", m.series, done[m.key()], o.runs, m.words())
		}
		return nil
	}
	left := remaining(todo, done, o.runs)
	if len(left) == 0 {
		fmt.Printf("%s has %d of each\n", o.out, o.runs)
		return nil
	}
	return measureAll(ctx, o, left, figures.Versions(there))
}

// remaining returns what is to be run still: first what has been run least, so that a machine that becomes slower or faster
// meanwhile does so for all measurements alike.
func remaining(todo []measurement, done map[figures.Measurement]int, runs int) (left []measurement) {
	for round := range runs {
		for _, m := range todo {
			if done[m.key()] <= round {
				left = append(left, m)
			}
		}
	}
	return left
}

// measureAll makes all runs. One that fails does not keep the others from being made.
func measureAll(ctx context.Context, o *options, left []measurement, before []string) (err error) {
	folder, err := os.MkdirTemp(o.data, "carillon-charts-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	cluster := slices.ContainsFunc(left, func(m measurement) bool { return m.nodes > 0 })
	p, err := build(ctx, o.source, o.program, folder, cluster)
	if err != nil {
		return err
	}
	failures := 0
	for i, m := range left {
		fmt.Printf("%d/%d %s\n", i+1, len(left), m.words())
		began := time.Now()
		result, failed := p.measure(ctx, m)
		if ctx.Err() != nil {
			return errors.New("interrupted: run it again for the rest")
		}
		if failed != nil {
			failures++
			fmt.Println("    failed:", failed)
		}
		if result == nil {
			continue
		}
		line := figures.Line{
			Series: m.series, Command: m.command(), Nodes: m.nodes, TakenAt: began.UTC().Truncate(time.Second), Result: result,
		}
		if err := figures.Append(o.out, line); err != nil {
			return err
		}
		essence, version := summary(line)
		fmt.Printf("    %s, after %s\n", essence, rounded(time.Since(began)))
		warn(o.out, before, version)
		before = []string{version}
	}
	if failures > 0 {
		return fmt.Errorf("%d of %d runs have failed: run it again for those without a result", failures, len(left))
	}
	return nil
}

// warn says that figures of several versions come together, once.
func warn(file string, before []string, version string) {
	if len(before) > 0 && !slices.Equal(before, []string{version}) {
		fmt.Printf("    note: %s has figures of %s, and this is %s: no chart should mix them\n",
			file, strings.Join(before, ", "), version)
	}
}
