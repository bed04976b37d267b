// What an ordinary program does, with Go's run-time: see xtask/src/programs.rs.
package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func listed(folder, name string) bool {
	entries, err := os.ReadDir(folder)
	check(err)
	for _, entry := range entries {
		if entry.Name() == name {
			return true
		}
	}
	return false
}

func main() {
	folder := os.Args[1]
	fmt.Println("words:", strings.Join(os.Args[2:], " "))
	input, err := io.ReadAll(os.Stdin)
	check(err)
	fmt.Println("input:", bytes.Count(input, []byte("\n")), "lines")
	text, err := os.ReadFile(filepath.Join(folder, "in.txt"))
	check(err)
	fmt.Println("file:", len(text), "bytes")
	made := filepath.Join(folder, "go.out")
	check(os.WriteFile(made, bytes.ToUpper(text), 0o644))
	back, err := os.ReadFile(made)
	check(err)
	fmt.Print("made: ", string(back))
	fmt.Println("listed:", listed(folder, "go.out"))
	check(os.Remove(made))
	fmt.Println("removed:", !listed(folder, "go.out"))
	_, err = os.ReadFile(filepath.Join(folder, "missing"))
	fmt.Println("missing:", errors.Is(err, fs.ErrNotExist))
	start := time.Now()
	done := make(chan bool)
	go func() { time.Sleep(5 * time.Millisecond); done <- true }()
	<-done
	fmt.Println("clocks:", time.Since(start) >= 5*time.Millisecond && start.Unix() > 1600000000)
	random := make([]byte, 16)
	_, err = rand.Read(random)
	check(err)
	fmt.Println("random:", !bytes.Equal(random, make([]byte, 16)))
	fmt.Fprintln(os.Stderr, "to errors")
	os.Exit(7)
}
