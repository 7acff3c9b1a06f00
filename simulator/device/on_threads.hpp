/// \file
/// Lanes that are threads of a processor.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "device/common.hpp"
#include "device/simulate.hpp"
#include "device/worker.hpp"
#include "engine/thread_team.hpp"

namespace tramontane::device {

/// Windows one after the other. All lanes meet twice in each: when its events have been handled, and when the next one
/// is known.
class OnThreads {
public:
    OnThreads(Common& common, Worker* workers, const Form& form)
        : common_(common), workers_(workers), form_(form), barrier_(common.lanes), errors_(common.lanes) {}

    /// Handles so many windows, if there are. \param window the first one
    /// \return the next one
    std::uint64_t run(std::uint64_t window) {
        window_ = window;
        left_ = form_.windows;
        {
            std::vector<std::jthread> threads;
            try {
                for (std::uint32_t lane = 1; lane < common_.lanes; ++lane) {
                    threads.emplace_back([this, lane] {
                        go_.wait(Go::not_yet);
                        if (go_ == Go::now) work(lane);
                    });
                }
            } catch (...) {  // there may be no more threads
                let(Go::never);
                throw;
            }
            let(Go::now);
            work(0);
        }
        for (const std::exception_ptr& error : errors_) {
            if (error) std::rethrow_exception(error);
        }
        return window_;
    }

private:
    enum class Go : std::uint8_t { not_yet, now, never };
    void let(Go go) {
        go_ = go;
        go_.notify_all();
    }

    void work(std::uint32_t lane) {
        std::vector<SiteId> found;
        int spins = Barrier::most_spins;
        while (window_ != Agenda::ended && left_ > 0) {
            try {
                find(lane, found);
                for (const SiteId site : found) workers_[lane].visit(site);
                workers_[lane].lane.deliver_all();
                workers_[lane].lane.tell();
            } catch (...) {
                fail(lane);
            }
            barrier_.arrive_and_wait(spins);
            if (lane == 0) turn();
            barrier_.arrive_and_wait(spins);
        }
    }

    /// The lane's sites that have something in this window. Each has whole words of bits.
    void find(std::uint32_t lane, std::vector<SiteId>& found) const {
        found.clear();
        Agenda& agenda = common_.agenda;
        for (std::uint32_t word = lane; word < agenda.words(); word += common_.lanes) {
            std::uint32_t bits = agenda.busy(word);
            if (bits != 0) agenda.clear_busy(word);
            for (; bits != 0; bits &= bits - 1) {
                found.push_back(agenda.site(word, static_cast<std::uint32_t>(std::countr_zero(bits))));
            }
        }
        if (form_.shuffle == 0) return;
        for (std::size_t i = found.size(); i > 1; --i) {
            std::swap(found[i - 1], found[below(random_bits(form_.shuffle, agenda.window(), i), i)]);
        }
    }

    void turn() {
        bool crowded = false;
        try {
            crowded = common_.turn_records();
            window_ = common_.agenda.turn();
        } catch (...) {
            fail(0);
        }
        left_ = failed_ || crowded ? 0 : left_ - 1;  // nobody else may end a lane: others would wait for it
    }

    void fail(std::uint32_t lane) {
        if (!errors_[lane]) errors_[lane] = std::current_exception();
        failed_ = true;
    }

    Common& common_;
    Worker* const workers_;
    const Form& form_;
    Barrier barrier_;
    std::vector<std::exception_ptr> errors_;
    std::atomic<bool> failed_ = false;
    std::atomic<Go> go_ = Go::not_yet;     // whether there are all threads
    std::uint64_t window_ = 0, left_ = 0;  // written between the two barriers
};

}  // namespace tramontane::device
