/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the names of methods promise: those of aria2, Kodi, Mopidy, QMP, Transmission, Bitcoin Core,
 * geth and Drupal, and others that mislead. */
#include "source/describe/describe.h"
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

static const char reads[] =
    "aria2.tellStatus aria2.getVersion aria2.getGlobalStat aria2.tellStopped system.listMethods "
    "JSONRPC.Introspect JSONRPC.Ping JSONRPC.Version Player.GetItem Player.GetActivePlayers "
    "AudioLibrary.GetRecentlyAddedAlbums Addons.GetAddons Settings.GetSettings "
    "Application.GetProperties "
    "core.get_version core.library.browse core.library.lookup core.library.search "
    "core.mixer.get_volume "
    "core.playback.get_current_tl_track core.tracklist.get_repeat "
    "query-status query-block query-version query-cpus-fast "
    "help ping "
    "eth_getBalance eth_getBlockByNumber eth_estimateGas txpool_getStatus "
    "plugins.list user_permissions.list maintenance_mode.isEnabled node_types.list "
    "getDeleted tellStatus list server.info server.version getURLList listHTTPHeaders "
    "rpc/get_methods "
    "get_schema list_dbs user.hasRole users:find ";

static const char changes[] =
    "aria2.addUri aria2.pause aria2.changePosition aria2.saveSession system.multicall "
    "Player.PlayPause Player.SetVolume Input.ExecuteAction VideoLibrary.Scan JSONRPC.NotifyAll "
    "Addons.SetAddonEnabled Files.SetFileDetails GUI.ShowNotificationAndMark Playlist.Add "
    "core.playback.play core.mixer.set_volume core.tracklist.shuffle core.playlists.as_list "
    "core.playlists.save core.tracklist.slice "
    "dump-guest-memory client_migrate_info ringbuf-read set_link migrate cont screendump "
    "block_resize "
    "human-monitor-command add_client change-vnc-password input-send-event trace-event-get-state "
    "torrent-verify torrent-add torrent-reannounce "
    "sendtoaddress getnewaddress walletpassphrase importprivkey generatetoaddress "
    "eth_sendTransaction eth_sign eth_newFilter personal_newAccount wallet_setInfo eth_call "
    "user_permissions.add_permission_to_role route_builder.rebuild "
    "order.setStatus user.updateInfo todo.createList db.execute_query wallet.sendAndVerify "
    "mail.markRead "
    "firmware.setVersion wallet.getNewAddress cache.getOrCreate doc.findAndModify "
    "queue.fetchAndAck "
    "addUri island model.train status_page version_bump info_push x_status refresh_status "
    "transact echo do_list sort_list ";

static const char destroys[] =
    "node.delete deleteAll del_item forceRemove aria2.purgeDownloadResult aria2.shutdown "
    "VideoLibrary.Clean core.playlists.delete core.tracklist.clear blockdev-del device_del "
    "system_reset "
    "quit eject torrent-remove cache.flush get_and_delete System.Reboot ";

static void assert_all(const char *names, cw_risk guess)
{
    for (cw_str rest = cw_str_from(names); rest.p;) {
        cw_str name = cw_str_cut(rest, ' ', &rest);
        cw_risk made = cw_describe_risk(name);
        if (name.n && made != guess)
            fail_msg("%.*s: %d instead of %d", CW_STR_ARG(name), (int)made, (int)guess);
    }
}

TEST(names_that_read_are_told_apart_from_others)
{
    assert_all(reads, CW_RISK_READS);
    assert_all(changes, CW_RISK_CHANGES);
    assert_all(destroys, CW_RISK_DESTROYS);
}

TEST(names_without_words_promise_nothing)
{
    assert_all("... _ __ . a._ \xc3\xa4", CW_RISK_CHANGES);
    assert_int_equal(cw_describe_risk(CW_STR("")), CW_RISK_CHANGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_read_are_told_apart_from_others),
        cmocka_unit_test(names_without_words_promise_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
