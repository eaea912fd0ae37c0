package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

const (
	// blockRate samples one blocking event per this many nanoseconds blocked, mutexRate one contention in this many.
	blockRate = 10_000_000
	mutexRate = 100
)

// profiler writes profiles of the measurement. The nil profiler writes none.
type profiler struct {
	dir, name string
	cpu       *os.File
}

// newProfiler returns nil without a folder.
func newProfiler(dir, name string) (*profiler, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("bench: profiles: %w", err)
	}
	return &profiler{dir: dir, name: name}, nil
}

// start begins the profiles. A second start does nothing.
func (p *profiler) start() error {
	if p == nil || p.cpu != nil {
		return nil
	}
	file, err := p.create("cpu")
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(fmt.Errorf("bench: profile of the processor: %w", err), file.Close())
	}
	p.cpu = file
	runtime.SetBlockProfileRate(blockRate)
	runtime.SetMutexProfileFraction(mutexRate)
	return nil
}

// stop writes the profiles. Without a start, or a second time, it does nothing.
func (p *profiler) stop() error {
	if p == nil || p.cpu == nil {
		return nil
	}
	pprof.StopCPUProfile()
	err := p.cpu.Close()
	p.cpu = nil
	runtime.SetBlockProfileRate(0)
	runtime.SetMutexProfileFraction(0)
	for _, kind := range []string{"heap", "block", "mutex"} {
		err = errors.Join(err, p.write(kind))
	}
	return err
}

func (p *profiler) create(kind string) (*os.File, error) {
	file, err := os.Create(filepath.Join(p.dir, p.name+"-"+kind+".pprof"))
	if err != nil {
		return nil, fmt.Errorf("bench: profiles: %w", err)
	}
	return file, nil
}

func (p *profiler) write(kind string) error {
	file, err := p.create(kind)
	if err != nil {
		return err
	}
	const binary = 0
	return errors.Join(pprof.Lookup(kind).WriteTo(file, binary), file.Close())
}
