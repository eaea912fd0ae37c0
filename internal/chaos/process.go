package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/child"
)

// command is how a process is started: its arguments for each of its lives.
type command func(life int) []string

// process is a process of the installation over its lives. It is safe for concurrent use.
type process struct {
	name    string
	binary  string
	logPath string
	command command
	launch  *child.Launcher
	// crashed is called, from a goroutine of the process, when the process ends by itself.
	crashed func(name string, err error)

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	lives []life
}

// start begins a new life, unless the process is alive.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	log, err := os.OpenFile(p.logPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	number := len(p.lives)
	cmd := exec.Command(p.binary, p.command(number)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.launch.Start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.lives = append(p.lives, life{Process: p.name, Number: number, period: period{From: time.Now()}})
	p.cmd, p.ended = cmd, make(chan struct{})
	go p.watch(cmd, p.ended)
	return nil
}

// watch waits for the end of a life.
func (p *process) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	asked := p.cmd != cmd
	if !asked {
		p.cmd = nil
		p.lives[len(p.lives)-1].To = time.Now()
	}
	p.mu.Unlock()
	close(ended)
	if !asked {
		p.crashed(p.name, err)
	}
}

// kill ends the process by SIGKILL, even if it is suspended, and waits until it is gone.
func (p *process) kill() {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.cmd = nil
	if cmd != nil {
		_ = cmd.Process.Kill()
	}
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	life := &p.lives[len(p.lives)-1]
	life.To = time.Now()
	endSuspension(life, life.To)
}

// suspend freezes the process; resume lets it go on. Both do nothing to a dead process.
func (p *process) suspend() error {
	return p.tell(func(process *os.Process) error {
		life := &p.lives[len(p.lives)-1]
		life.Suspended = append(life.Suspended, period{From: time.Now()})
		return suspend(process)
	})
}

func (p *process) resume() error {
	return p.tell(func(process *os.Process) error {
		err := resume(process)
		endSuspension(&p.lives[len(p.lives)-1], time.Now())
		return err
	})
}

// tell sends the process a signal, unless it is dead.
func (p *process) tell(signal func(*os.Process) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if err := signal(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) { // it may just have ended by itself
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

func endSuspension(life *life, at time.Time) {
	if n := len(life.Suspended); n > 0 && life.Suspended[n-1].To.IsZero() {
		life.Suspended[n-1].To = at
	}
}

// history returns the lives so far.
func (p *process) history() []life {
	p.mu.Lock()
	defer p.mu.Unlock()
	lives := make([]life, len(p.lives))
	for i, life := range p.lives {
		life.Suspended = append([]period(nil), life.Suspended...)
		lives[i] = life
	}
	return lives
}

// lifeName names a life of a process.
func lifeName(process string, number int) string { return fmt.Sprintf("%s.%d", process, number) }

func logPath(dir, process string) string { return filepath.Join(dir, "log", process+".log") }
