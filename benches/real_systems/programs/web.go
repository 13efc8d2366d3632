// HTTP with a goroutine for each connection: `web MODE PORT`.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var one sync.Mutex

// work sorts words for about a third of a millisecond.
func work() string {
	text := strings.Repeat("the quick brown fox ", 120)
	counts := map[string]int{}
	for range 40 {
		for _, word := range strings.Fields(text) {
			counts[word]++
		}
	}
	return fmt.Sprint(len(counts))
}

// locked waits 1.5 ms under a mutex, as for another service.
func locked() string {
	one.Lock()
	defer one.Unlock()
	time.Sleep(1500 * time.Microsecond)
	return "1"
}

// slept waits 4 ms: the upstream of a proxy.
func slept() string {
	time.Sleep(4 * time.Millisecond)
	return "1"
}

func main() {
	answer := map[string]func() string{"work": work, "lock": locked, "sleep": slept}[os.Args[1]]
	http.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(response, answer())
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[2], nil); err != nil {
		panic(err)
	}
}
