// Record runs a command, and draws its output as an animated picture. The picture shows the lines from the real run with their real timing.
//
// usage: record FILE COMMAND [ARGUMENT...]
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "record: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: record FILE COMMAND [ARGUMENT...]")
	}
	lines, err := record(out, arguments[1:])
	if err != nil {
		return err
	}
	return os.WriteFile(arguments[0], []byte(picture(lines)), 0o600)
}

// line is a line of output with the time when the command printed the line.
type line struct {
	text string
	at   time.Duration
}

// record runs a command, copies its output, and returns its lines.
func record(out io.Writer, command []string) ([]line, error) {
	interrupted := make(chan os.Signal, 1) // the command also gets the signal, and ends
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	process := exec.Command(command[0], command[1:]...) //nolint:noctx // the command gets the terminal's signals
	process.Stdout, process.Stderr = write, write
	began := time.Now()
	err = process.Start()
	_ = write.Close()
	if err != nil {
		return nil, err
	}
	var lines []line
	output := bufio.NewReader(io.TeeReader(read, out))
	for err == nil {
		var text string
		if text, err = output.ReadString('\n'); text != "" {
			lines = append(lines, line{text: strings.TrimSuffix(text, "\n"), at: time.Since(began)})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	_ = read.Close() // if the command is still writing, this stops it
	return lines, errors.Join(err, process.Wait())
}
