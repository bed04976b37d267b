// A client of the web server in Go, by net/http alone, for `cargo xtask test web-hosted/clients`:
// `client URL` asks what a program would, and says what is not as it should be.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"
)

// The file that is asked for: 0123456789, two hundred times.
var file = strings.Repeat("0123456789", 200)

type answer struct {
	*http.Response
	text string
}

// ask sends a request, and reads the whole answer.
func ask(client *http.Client, method, url string, body io.Reader, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return answer{}, err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response, string(text)}, err
}

func expect(what string, got answer, err error, status int, text string) {
	if err != nil {
		fail("%s: %v", what, err)
	}
	if got.StatusCode != status || text != "" && got.text != text {
		fail("%s: %s, %d bytes: %.80q", what, got.Status, len(got.text), got.text)
	}
}

func fail(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
	os.Exit(1)
}

// reused asks ten times, all over one connection.
func reused(client *http.Client, url string) {
	made := 0
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			made++
		}
	}}
	for n := 0; n < 10; n++ {
		request, _ := http.NewRequestWithContext(
			httptrace.WithClientTrace(context.Background(), trace), "GET", url+"/f.txt", nil)
		request.Header.Set("Accept-Encoding", "identity")
		response, err := client.Do(request)
		if err != nil {
			fail("request %d over a connection: %v", n, err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(text) != file {
			fail("request %d over a connection: %d bytes, %v", n, len(text), err)
		}
	}
	if made > 1 {
		fail("ten requests have taken %d connections", made)
	}
}

// cancelled gives up requests that are under way; the next ones are answered.
func cancelled(client *http.Client, url string) {
	for n := 0; n < 5; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		request, _ := http.NewRequestWithContext(ctx, "GET", url+"/try/sleep", nil)
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			fail("a request that takes longer was answered in time")
		}
		cancel()
	}
	got, err := ask(client, "GET", url+"/f.txt", nil)
	expect("behind requests that were given up", got, err, 200, file)
}

func main() {
	url := os.Args[1]
	transport := &http.Transport{ExpectContinueTimeout: 5 * time.Second, MaxIdleConnsPerHost: 8}
	client := &http.Client{Transport: transport, Timeout: time.Minute}

	reused(client, url)
	// It asks for gzip by itself, and takes it off.
	got, err := ask(client, "GET", url+"/f.txt", nil)
	expect("a file", got, err, 200, file)
	if !got.Uncompressed {
		fail("the file was not packed")
	}
	tag := got.Header.Get("ETag")
	got, err = ask(client, "GET", url+"/f.txt", nil, "If-None-Match: "+tag)
	expect("a file that has not changed", got, err, 304, "")
	got, err = ask(client, "GET", url+"/f.txt", nil, "Range: bytes=10-19")
	expect("a part", got, err, 206, "0123456789")
	got, err = ask(client, "HEAD", url+"/f.txt", nil, "Accept-Encoding: identity")
	expect("HEAD", got, err, 200, "")
	if got.ContentLength != int64(len(file)) {
		fail("HEAD: %d bytes", got.ContentLength)
	}
	// A directory's path is sent elsewhere, and the client goes there.
	got, err = ask(client, "GET", url+"/d", nil)
	expect("a directory", got, err, 200, "the page of d\n")
	got, err = ask(client, "DELETE", url+"/f.txt", nil)
	expect("DELETE", got, err, 405, "")

	body := strings.Repeat("a body of some length. ", 10000)
	got, err = ask(client, "POST", url+"/try/count", strings.NewReader(body))
	expect("a body", got, err, 200, fmt.Sprintf("POST %d\n", len(body)))
	// Without its length: in chunks.
	got, err = ask(client, "PUT", url+"/try/echo", io.MultiReader(strings.NewReader(body)))
	expect("chunks", got, err, 200, body)
	got, err = ask(client, "POST", url+"/try/echo", strings.NewReader(body), "Expect: 100-continue")
	expect("a body that waits", got, err, 200, body)
	got, err = ask(client, "POST", url+"/try/count", bytes.NewReader(make([]byte, 3<<20)), "Expect: 100-continue")
	expect("a body that is too large", got, err, 413, "")
	got, err = ask(client, "GET", url+"/try/crash", nil)
	expect("a crash", got, err, 500, "")
	cancelled(client, url)

	var all sync.WaitGroup
	for n := 0; n < 8; n++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			for m := 0; m < 10; m++ {
				want := fmt.Sprintf("Hello, %d-%d, from a process of your own", n, m)
				got, err := ask(client, "GET", fmt.Sprintf("%s/hello?name=%d-%d", url, n, m), nil)
				if err != nil || got.StatusCode != 200 || !strings.HasPrefix(got.text, want) {
					fail("eight at once: %v, %.80q", err, got.text)
				}
			}
		}(n)
	}
	all.Wait()
	transport.CloseIdleConnections()
	fmt.Println("all as it should be")
}
