package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// programs are what is run, and the folder for all that they write.
type programs struct {
	carillon, nats string
	folder         string
}

// build builds what is needed from a source tree, the NATS server in the version that the tree embeds. Nothing is built for
// a program that is there.
func build(ctx context.Context, source, carillon, folder string, cluster bool) (*programs, error) {
	p := &programs{carillon: carillon, nats: filepath.Join(folder, "nats-server"), folder: folder}
	var err error
	if carillon == "" {
		p.carillon = filepath.Join(folder, "carillon")
		err = compile(ctx, source, p.carillon, "./cmd/carillon")
	} else {
		p.carillon, err = filepath.Abs(carillon)
	}
	if err == nil && cluster {
		err = compile(ctx, source, p.nats, "github.com/nats-io/nats-server/v2")
	}
	return p, err
}

// compile builds a program. It asks for the revision, which is the version in the results, whatever GOFLAGS says.
func compile(ctx context.Context, source, to, what string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-C", source, "-buildvcs=auto", "-o", to, what)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}

// longest is how long a run may take: one of a million schedules takes half of it.
const longest = time.Hour

// measure runs a measurement and returns its result. There may be one with an error too: that of a run that has missed or
// doubled something.
func (p *programs) measure(ctx context.Context, m measurement) (result json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	folder, err := os.MkdirTemp(p.folder, "run-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	urls := ""
	if m.nodes > 0 {
		c, failed := startNodes(ctx, p.nats, folder, m.nodes)
		defer func() { err = errors.Join(err, c.stop()) }()
		if failed != nil {
			return nil, failed
		}
		urls = c.urls()
	}
	return p.bench(ctx, m.arguments(folder, urls))
}

// arguments are those of the program: the embedded server keeps its data in a folder, others are reached by URLs.
func (m measurement) arguments(folder, urls string) []string {
	where := []string{"--data", folder}
	if urls != "" {
		where = []string{"--nats", urls}
	}
	return slices.Concat([]string{"bench"}, m.args, []string{"--json"}, where)
}

func (p *programs) bench(ctx context.Context, args []string) (json.RawMessage, error) {
	cmd := exec.CommandContext(ctx, p.carillon, args...)
	cmd.Env = environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	failed := cmd.Run()
	if failed != nil {
		failed = fmt.Errorf("carillon bench: %w\n%s", failed, tail(problems.String(), 5))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, out.Bytes()); err != nil || compact.Len() == 0 {
		return nil, errors.Join(failed, err)
	}
	return compact.Bytes(), failed
}

// environment is that of this process, without what would configure the program that is measured.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "CARILLON_") || strings.HasPrefix(variable, "OTEL_")
	})
}
