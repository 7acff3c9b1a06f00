/// \file
/// A coroutine that another one awaits. A rank is such a coroutine: it reads like an MPI program, and is suspended
/// where it computes or waits for a message.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace tramontane::pisces16 {

class [[nodiscard]] Task {
public:
    struct promise_type {
        std::coroutine_handle<> continuation = std::noop_coroutine();
        std::exception_ptr error;

        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct Continue {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
                    return done.promise().continuation;
                }
                void await_resume() noexcept {}
            };
            return Continue{};
        }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }
    };

    Task() = default;
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) handle_.destroy();
    }

    /// Runs up to the first suspension; only for a task nobody awaits.
    void start() const { handle_.resume(); }
    /// Passes on what ended the task early.
    void check() const {
        if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
        handle_.promise().continuation = awaiting;
        return handle_;
    }
    void await_resume() const { check(); }

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

}  // namespace tramontane::pisces16
